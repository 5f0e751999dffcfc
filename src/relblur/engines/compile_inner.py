"""How functions are compiled that only compiled functions call: as part of their callers, once.

Left to itself numba makes machine code of every function it meets, then links the function's optimised code into each
caller, optimises the two together, makes machine code of that, and so on upwards: at the end of a chain of eight calls
LLVM has worked on the innermost loop eight times. Python calls only the outermost of them. With the options ``INNER``
the others are translated for LLVM and no further; LLVM optimises them together with the function that Python calls.

``pipeline_class`` is an option that numba documents; the library of code that a compiler fills is numba's own affair.
Where numba lacks the names imported here everything works and takes longer to compile.
"""

from __future__ import annotations

from typing import Any

__all__ = ["APART", "INNER"]

#: Options of ``numba.njit`` for functions that only compiled functions call.
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

#: The same for long loops with several callers: they are called, as a copy for each would only take longer to compile.
APART: dict[str, Any] = {**INNER}

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
except ImportError:
    pass
else:

    class _NoMachineCode:
        """Stands for the code generator where numba looks for the address of what has none."""

        @staticmethod
        def set_env(name: str, environment: Any) -> None:
            """Do nothing: the code does not go back to Python, so it needs no environment."""

    class _Part(JITCodeLibrary):  # type: ignore[misc]
        """The code of one function and of all that it calls, to be linked into its callers."""

        codegen = _NoMachineCode

        def _optimize_functions(self, module: Any) -> None:
            module.data_layout = self._codegen._data_layout

        def finalize(self) -> None:
            """Link what the function calls; optimise nothing."""
            self._raise_if_finalized()
            for library in dict.fromkeys(self._linking_libraries):
                if hasattr(library, "_reload_init"):  # what a cached function does when loaded; since numba 0.63
                    self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._final_module.verify()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            """Return 0, numba's word for no such function."""
            self._ensure_finalized()
            return 0

    class _PartApart(_Part):
        """The code of a function that stays one."""

        def add_ir_module(self, ir_module: Any) -> None:
            """Mark the function before LLVM sees it; llvmlite 0.44 would mark what it returns afterwards."""
            for function in ir_module.functions:
                if not function.is_declaration:
                    function.attributes.add("noinline")
            super().add_ir_module(ir_module)

    class _InnerCompiler(Compiler):  # type: ignore[misc]
        part = _Part

        def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
            super().__init__(typing, target, library or self.part(target.codegen(), "inner"), *rest)

    class _ApartCompiler(_InnerCompiler):
        part = _PartApart

    INNER["pipeline_class"] = _InnerCompiler
    APART["pipeline_class"] = _ApartCompiler
