"""SIMD vectors as values that numba code can hold in variables.

numba leaves vectorising to LLVM, which will not keep the running sums of a tap loop in
registers, and gives up on loops over many arrays. Here a *vector* of ``LANES`` float32 is
a numba type of its own (``float32xN``), with arithmetic operators, and loads and stores at
any offset of a flat float32 array. The loops of the other modules are written with it in
plain Python and compile to the instructions they look like.

Loads and stores check nothing: an offset outside the array is undefined behaviour. The
offsets come from :mod:`.plan`, which sizes every buffer.

``LANES`` is 16 where the processor has AVX-512 and 8 elsewhere (two registers on
processors with four lanes). The number only decides how pixels are grouped, never how a
pixel is summed.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

__all__ = [
    "LANES",
    "any_lane",
    "highest",
    "interleave_high",
    "interleave_low",
    "inverse",
    "later",
    "load",
    "lowest",
    "maximum",
    "minimum",
    "select",
    "splat",
    "sqrt",
    "store",
    "store_bytes",
    "take_even",
    "take_odd",
]


def _count_lanes() -> int:
    """Lanes to use on the processor that numba compiles for."""
    from numba.core.registry import cpu_target

    features = cpu_target.target_context.codegen().magic_tuple()[2]
    return 16 if "+avx512f" in features.split(",") else 8


LANES: int = _count_lanes()

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_INT32 = ir.IntType(32)
#: Multiply and add may fuse; nothing else may change, so NaN and infinity keep their meaning.
_FUSE = ("contract",)


class VectorType(types.Type):
    """``LANES`` float32 values in a register."""

    def __init__(self) -> None:
        super().__init__(name=f"float32x{LANES}")


class MaskType(types.Type):
    """One bit a lane, from a comparison."""

    def __init__(self) -> None:
        super().__init__(name=f"maskx{LANES}")


vector = VectorType()
mask = MaskType()


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _VECTOR)


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, ir.VectorType(ir.IntType(1), LANES))


# --- operators -----------------------------------------------------------------------------


def _register(operation: Any, result: Any, operands: Any, emit: Any) -> None:
    """Teach numba one binary operator on vectors or masks."""

    class _Typing(ConcreteTemplate):
        # numba tries what is made for this processor before what is for all: else some thirty kinds of numbers first.
        metadata = {"target": "cpu"}  # noqa: RUF012
        cases = (signature(result, operands, operands),)

    infer_global(operation)(_Typing)

    @lower_builtin(operation, operands, operands)
    def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return emit(builder, args[0], args[1])


_register(operator.add, vector, vector, lambda b, x, y: b.fadd(x, y, flags=_FUSE))
_register(operator.sub, vector, vector, lambda b, x, y: b.fsub(x, y, flags=_FUSE))
_register(operator.mul, vector, vector, lambda b, x, y: b.fmul(x, y, flags=_FUSE))
# Division by way of an estimated reciprocal and a Newton step where the processor has one: 22 bits.
_register(operator.truediv, vector, vector, lambda b, x, y: b.fdiv(x, y, flags=("arcp",)))
_register(operator.lt, mask, vector, lambda b, x, y: b.fcmp_ordered("<", x, y))
_register(operator.le, mask, vector, lambda b, x, y: b.fcmp_ordered("<=", x, y))
_register(operator.eq, mask, vector, lambda b, x, y: b.fcmp_ordered("==", x, y))
_register(operator.and_, mask, mask, lambda b, x, y: b.and_(x, y))
_register(operator.or_, mask, mask, lambda b, x, y: b.or_(x, y))


# --- memory --------------------------------------------------------------------------------


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def load(typingctx: Any, array: Any, index: Any) -> Any:
    """``array[index : index + LANES]`` of a flat float32 array, at any alignment."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = _address(context, builder, sig.args[0], args[0], args[1])
        return builder.load(builder.bitcast(at, _VECTOR.as_pointer()), align=4, typ=_VECTOR)

    return vector(array, types.int64), emit


@intrinsic
def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write a vector to ``array[index : index + LANES]``."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = _address(context, builder, sig.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(at, _VECTOR.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, vector), emit


@intrinsic
def store_bytes(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write small non-negative numbers to ``LANES`` elements of a flat uint8 array."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = _address(context, builder, sig.args[0], args[0], args[1])
        bytes_ = ir.VectorType(ir.IntType(8), LANES)
        wide = builder.fptosi(args[2], ir.VectorType(_INT32, LANES))
        builder.store(builder.trunc(wide, bytes_), builder.bitcast(at, bytes_.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, vector), emit


# --- lanes ---------------------------------------------------------------------------------


def _shuffle(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    index = ir.Constant(ir.VectorType(_INT32, LANES), lanes)
    return builder.shuffle_vector(a, b, index)


@intrinsic
def splat(typingctx: Any, number: Any) -> Any:
    """The same number in every lane."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), args[0], ir.Constant(_INT32, 0))
        return _shuffle(builder, one, one, [0] * LANES)

    return vector(types.float32), emit


def _two_vectors(doc: str, lanes: list[int]) -> Any:
    def pick(typingctx: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _shuffle(builder, args[0], args[1], lanes)

        return vector(vector, vector), emit

    pick.__doc__ = doc
    return intrinsic(pick)


interleave_low = _two_vectors("a0 b0 a1 b1 ... of the lower halves.", [i // 2 + LANES * (i % 2) for i in range(LANES)])
interleave_high = _two_vectors(
    "a b a b ... of the upper halves.", [LANES // 2 + i // 2 + LANES * (i % 2) for i in range(LANES)]
)
take_even = _two_vectors("Lanes 0, 2, 4 ... of a, then of b.", [2 * i for i in range(LANES)])
take_odd = _two_vectors("Lanes 1, 3, 5 ... of a, then of b.", [2 * i + 1 for i in range(LANES)])


@intrinsic
def later(typingctx: Any, a: Any, b: Any, shift: Any) -> Any:
    """Lanes ``shift ... shift + LANES - 1`` of a and b side by side; ``shift`` is a literal."""
    if not isinstance(shift, types.IntegerLiteral):
        return None
    lanes = [i + shift.literal_value for i in range(LANES)]

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _shuffle(builder, args[0], args[1], lanes)

    return vector(vector, vector, shift), emit


# --- functions of lanes --------------------------------------------------------------------


@intrinsic
def sqrt(typingctx: Any, x: Any) -> Any:
    """Square root of every lane."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        name = f"llvm.sqrt.v{LANES}f32"
        root = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_VECTOR, [_VECTOR]), name)
        return builder.call(root, [args[0]])

    return vector(vector), emit


@intrinsic
def maximum(typingctx: Any, a: Any, b: Any) -> Any:
    """The larger of two; ``b`` where ``a`` is NaN."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[0], args[1]), args[0], args[1])

    return vector(vector, vector), emit


@intrinsic
def minimum(typingctx: Any, a: Any, b: Any) -> Any:
    """The smaller of two; ``b`` where ``a`` is NaN."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[0], args[1])

    return vector(vector, vector), emit


def _reduction(doc: str, operation: str) -> Any:
    def reduce(typingctx: Any, x: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            name = f"llvm.vector.reduce.{operation}.v{LANES}f32"
            return builder.call(
                cgutils.get_or_insert_function(builder.module, ir.FunctionType(_FLOAT, [_VECTOR]), name), [args[0]]
            )

        return types.float32(vector), emit

    reduce.__doc__ = doc
    return intrinsic(reduce)


lowest = _reduction("The smallest lane; NaN counts only if there is nothing else.", "fmin")
highest = _reduction("The largest lane; NaN counts only if there is nothing else.", "fmax")


@intrinsic
def select(typingctx: Any, where: Any, a: Any, b: Any) -> Any:
    """``a`` where the mask is set, else ``b``."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(args[0], args[1], args[2])

    return vector(mask, vector, vector), emit


@intrinsic
def any_lane(typingctx: Any, where: Any) -> Any:
    """Whether the mask is set in any lane."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(mask), emit


@intrinsic
def inverse(typingctx: Any, where: Any) -> Any:
    """The other lanes of a mask."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.not_(args[0])

    return mask(mask), emit
