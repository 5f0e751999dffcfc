"""What ``relblur estimate`` leaves in a folder: maps, exports, pictures, a summary, the steps."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ._typing import AnyArray
from .bank import gaussian_bank
from .colours import flag_colours
from .engines import choose_engine
from .errors import FileError, OutputExistsError
from .evaluate import observed_blurrier, resynthesize
from .files import replacing, write_image
from .inputs import as_pair, grey
from .light import encode_srgb
from .noise import rounding_noise
from .pairs import FilePair
from .paper_method import estimate_on_grid
from .pictures import Panel, colour_map_picture, panels_picture
from .results import BlurMap, Flag, write_16_bit
from .settings import PAPER_WINDOW, paper_sigmas
from .sharpness import local_sharpness
from .window_method import estimate_in_windows, signed_nodes

__all__ = ["prepare_folder", "refuse_to_replace", "summarise", "write_report", "write_steps"]

REPORT_FILES = (
    "overview.png",
    "sigma_colour.png",
    "stderr.png",
    "sharper.png",
    "flags.png",
    "remade.png",
    "sigma.png",
    "sigma.tif",
    "blur_map.npz",
    "summary.json",
)


def refuse_to_replace(folder: Path, names: tuple[str, ...], force: bool) -> None:
    """Stop before the work if files of these names are in the folder and may not be replaced."""
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise OutputExistsError(f"{folder / there[0]}{more} would be replaced; add --force or choose another folder")
    if folder.exists() and not folder.is_dir():
        raise OutputExistsError(f"{folder} is a file; name a folder for the results")


def prepare_folder(folder: Path, names: tuple[str, ...], force: bool) -> None:
    """Make an output folder; refuse to replace files in it unless told to."""
    refuse_to_replace(folder, names, force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror}; choose another") from None


def summarise(blur_map: BlurMap) -> dict[str, Any]:
    """Return the figures a person wants to see first."""
    sigma, stderr = blur_map.sigma, blur_map.sigma_stderr
    known = np.isfinite(sigma)
    height, width = blur_map.shape
    summary: dict[str, Any] = {
        "width": width,
        "height": height,
        "answered_fraction": float(known.mean()),
        "first_sharper_fraction": float((blur_map.sharper == 1).mean()),
        "second_sharper_fraction": float((blur_map.sharper == -1).mean()),
        "sigma_px_percentiles": None,
        "median_stderr_px": None,
        "flagged_fraction": {
            str(flag.name).lower(): float(((blur_map.flags & np.uint8(flag)) != 0).mean()) for flag in Flag
        },
        "settings": dict(blur_map.settings),
    }
    if known.any():
        low, middle, high = np.percentile(sigma[known], (5, 50, 95))
        summary["sigma_px_percentiles"] = {"5": float(low), "50": float(middle), "95": float(high)}
        summary["median_stderr_px"] = float(np.median(stderr[known]))
    return summary


def write_report(folder: Path, pair: FilePair, blur_map: BlurMap, *, force: bool = False) -> dict[str, Any]:
    """Write everything about a map into a folder and return its summary."""
    prepare_folder(folder, REPORT_FILES, force)
    axis = pair.channel_axis
    with ThreadPoolExecutor(1) as beside:  # arithmetic on one core, files and drawing on the other
        remaking = beside.submit(resynthesize, pair.first, pair.second, blur_map, channel_axis=axis, dtype=np.float32)
        _write_maps(folder, blur_map)
        made = remaking.result()
        writing = beside.submit(lambda: write_image(folder / "remade.png", _as_8_bit(_to_look_at(made, pair))))
        error = np.abs(made - observed_blurrier(pair.first, pair.second, blur_map, channel_axis=axis))
        error = error.mean(axis=2) if error.ndim == 3 else error
        error[~np.isfinite(blur_map.sigma)] = np.nan
        overview = [
            Panel("first", _to_look_at(pair.first, pair)),
            Panel("second", _to_look_at(pair.second, pair)),
            Panel("relative blur (px), positive: second is blurrier", blur_map.sigma, "sigma"),
            Panel("standard error (px)", blur_map.sigma_stderr, "stderr"),
            Panel("flags", blur_map.flags, "flags"),
            Panel("the blurrier image re-made: |error|", error, "error"),
        ]
        panels_picture(folder / "overview.png", overview)
        writing.result()
    summary = summarise(blur_map)
    summary["notes"] = list(pair.notes)
    summary["remade_mean_absolute_error"] = float(np.nanmean(error)) if np.isfinite(error).any() else None
    with replacing(folder / "summary.json") as stream:
        stream.write(json.dumps(summary, indent=2).encode())
    return summary


def _to_look_at(image: AnyArray, pair: FilePair) -> AnyArray:
    """Return light as a screen expects it; stored values as they are."""
    if not pair.is_light:
        return image
    finite = np.nan_to_num(image)
    return encode_srgb(finite / max(1.0, float(np.percentile(finite, 99.5))))


def _write_maps(folder: Path, blur_map: BlurMap) -> None:
    blur_map.save(folder / "blur_map.npz")
    blur_map.save(folder / "sigma.tif")
    blur_map.save(folder / "sigma.png")
    colour_map_picture(folder / "sigma_colour.png", blur_map)
    meaning = "standard error of sigma in px = offset_px + scale_px * value; 0 = none"
    write_16_bit(folder / "stderr.png", blur_map.sigma_stderr, meaning)
    # Plain pictures for other programs: 255 = first is sharper, 0 = second, 128 = neither.
    write_image(folder / "sharper.png", np.choose(blur_map.sharper + 1, [0, 128, 255]).astype(np.uint8))
    write_image(folder / "flags.png", flag_colours(blur_map.flags))


STEP_FILES = (
    "1_pair.png",
    "2_sharpness.png",
    "3_bank.png",
    "4_candidates.png",
    "5_window.png",
    "6_result.png",
    "7_remade.png",
)


def write_steps(folder: Path, pair: FilePair, blur_map: BlurMap, *, force: bool = False) -> None:
    """Write a picture of every stage between the pair and the map."""
    prepare_folder(folder, STEP_FILES, force)
    axis = pair.channel_axis
    checked = as_pair(pair.first, pair.second, valid=pair.valid, channel_axis=axis)
    first, second = grey(checked.first), grey(checked.second)
    noise = max(rounding_noise(checked.first), rounding_noise(checked.second))
    both = [Panel("first", _to_look_at(pair.first, pair)), Panel("second", _to_look_at(pair.second, pair))]
    panels_picture(folder / "1_pair.png", both, columns=2)

    sharp_first, sharp_second = (local_sharpness(image) for image in (first, second))
    limit = float(np.percentile(sharp_first, 99))
    decided = np.sign(sharp_first - sharp_second)
    panels_picture(
        folder / "2_sharpness.png",
        [
            Panel("3x3 standard deviation, first", sharp_first, "grey", limit),
            Panel("3x3 standard deviation, second", sharp_second, "grey", limit),
            Panel("which is the sharper", decided, "side"),
        ],
    )
    levels = [0.5, 1.0, 1.5, 2.0, 3.0, 5.0]
    levels = [level for level in levels if level <= min(first.shape) / 2]
    bank = gaussian_bank(first, levels)
    panels_picture(
        folder / "3_bank.png",
        [Panel(f"first blurred by {level:g} px", image) for level, image in zip(levels, bank, strict=True)],
    )
    grid = np.array([sigma for sigma in paper_sigmas() if sigma <= min(first.shape) / 2])
    window = min(PAPER_WINDOW, min(first.shape) - 1 + min(first.shape) % 2)
    engine = choose_engine()
    roots = estimate_on_grid(first, second, grid, window, noise, engine)
    panels_picture(
        folder / "4_candidates.png",
        [
            Panel("candidate roots, first as the sharper", roots.roots.astype(float), "count"),
            Panel("the root that the neighbours support (px)", roots.sigma, "sigma"),
        ],
        columns=2,
    )
    fit = estimate_in_windows(checked.first, checked.second, signed_nodes(float(grid[-1])), window, noise, engine)
    local = np.sign(fit.s) * np.sqrt(np.abs(fit.s))
    panels_picture(folder / "5_window.png", [Panel(f"{window}x{window} window, signed (px)", local, "sigma")])
    panels_picture(
        folder / "6_result.png",
        [
            Panel(f"method {blur_map.settings.get('method')!r} (px)", blur_map.sigma, "sigma"),
            Panel("standard error (px)", blur_map.sigma_stderr, "stderr"),
            Panel("flags", blur_map.flags, "flags"),
        ],
    )
    wanted = observed_blurrier(pair.first, pair.second, blur_map, channel_axis=axis)
    made = resynthesize(pair.first, pair.second, blur_map, channel_axis=axis)
    difference = np.abs(made - wanted)
    panels_picture(
        folder / "7_remade.png",
        [
            Panel("the blurrier image at each pixel", wanted),
            Panel("re-made from the sharper", made),
            Panel("|difference|", difference.mean(axis=2) if difference.ndim == 3 else difference, "error"),
        ],
    )


def _as_8_bit(image: AnyArray) -> AnyArray:
    return np.rint(image.clip(0, 1) * 255).astype(np.uint8)
