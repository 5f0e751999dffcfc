"""The pages of evidence: what each shows of which records of benchmarks/results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """One record of a page: what is measured, its plot, its table."""

    record: str
    title: str
    measured: str
    columns: tuple[str, ...]
    rows: Rows
    draw: Callable[[Any], None] | None = None


@dataclass(frozen=True)
class Page:
    """A page of evidence."""

    name: str
    title: str
    sections: tuple[Section, ...]


def record(name: str) -> dict[str, Any]:
    """Return a benchmark's record: command, machine and rows."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def percent(value: float, digits: int = 0) -> str:
    """Return a fraction in percent."""
    return f"{100 * value:.{digits}f}"


def short(value: float) -> str:
    """Return a number with two significant digits and no exponent."""
    return np.format_float_positional(value, precision=2, fractional=False, trim="-")


def span(values: Iterable[float], digits: int = 0) -> str:
    """Return the least and the largest of some numbers."""
    found = sorted(values)
    low, high = (f"{each:.{digits}f}" for each in (found[0], found[-1]))
    return low if low == high else f"{low} to {high}"


def accuracy() -> Page:
    """Synthetic pairs."""
    rows = record("accuracy")["rows"]
    kinds = list(dict.fromkeys(row["data"] for row in rows))
    table = []
    for kind in kinds:
        stated, automatic = (accuracy_of(rows, kind, method) for method in ("refined", "refined auto"))
        within = np.mean([row["coverage_percent"] for row in rows if row["data"] == kind])
        worst = short(max(*stated, *automatic))
        table.append((kind, short(np.median(stated)), short(np.median(automatic)), worst, f"{within:.0f}"))
    section = Section(
        "accuracy",
        "Known blur on ten photographs",
        "Mean relative error of sigma over all pixels (percent), for eight fields of known blur on ten photographs of "
        "scikit-image. Table: median and largest value over images and fields, and the share of pixels within one "
        "standard error (68 % is ideal).",
        ("data", "sharper image stated", "direction found", "largest error", "within 1 (%)"),
        table,
        _draw_accuracy,
    )
    return Page("accuracy", "Accuracy on synthetic pairs", (section,))


def accuracy_of(rows: Any, kind: str, method: str) -> list[float]:
    """Return the errors (percent) of one kind of data."""
    return [row["error_percent"] for row in rows if row["data"] == kind and row["method"] == method]


def _draw_accuracy(figure: Any) -> None:
    rows = record("accuracy")["rows"]
    kinds = list(dict.fromkeys(row["data"] for row in rows))
    axis = figure.subplots()
    for shift, method, label in ((-0.15, "refined", "sharper image stated"), (0.15, "refined auto", "direction found")):
        values = [accuracy_of(rows, kind, method) for kind in kinds]
        for place, found in enumerate(values):
            offsets = np.linspace(-0.1, 0.1, len(found))
            axis.plot(place + shift + offsets, found, ".", color="C0" if shift < 0 else "C1", markersize=3, alpha=0.6)
        medians = [np.median(found) for found in values]
        axis.plot(np.arange(len(kinds)) + shift, medians, "_", color="k", markersize=22)
        axis.plot([], [], ".", color="C0" if shift < 0 else "C1", label=label)
    axis.plot([], [], "_", color="k", label="median")
    axis.set_xticks(range(len(kinds)), kinds)
    axis.set_yscale("log")
    axis.set_ylabel("mean relative error (%)")
    axis.legend(fontsize="small")


SCENES = ("street", "table", "room", "leaves")


def error_bars() -> Page:
    """Scenes with true depth, plain walls, impossible signs."""
    rows = record("honest")["rows"]
    scenes = [
        (
            f"{row['scene']}, {row['place']}",
            percent(row["unflagged"]),
            percent(row["wrong"] / row["unflagged"], 1),
            *(percent(share) for share in row["coverage_unflagged"][:2]),
        )
        for row in rows["scenes"]
    ]
    walls = []
    for noise in dict.fromkeys(row["noise"] for row in rows["walls"]):
        those = [row for row in rows["walls"] if row["noise"] == noise]
        errors = [max(abs(value - 2) for value in row["sigma_5_95"]) for row in those]
        walls.append(
            (
                f"{noise:g}",
                percent(min(row["within_2"] for row in those)),
                f"{max(errors):.1f}",
                f"{min(row['median_stderr'] for row in those):.1f}",
                f"{max(abs(row['texture'] / 2 - 1) for row in those) * 100:.1f}",
            )
        )
    return Page(
        "error_bars",
        "Standard errors and flags",
        (
            Section(
                "honest",
                "Rendered scenes",
                "Four path-traced scenes of 640 x 480 px with sensor noise, 8-bit sRGB, JPEG 95. Off edges: more than "
                "10 px from a depth edge. Wrong: beyond 3 standard errors and by more than 0.5 px.",
                ("scene, place", "unflagged (%)", "of these wrong (%)", "within 1 (%)", "within 2 (%)"),
                scenes,
                _draw_scenes,
            ),
            Section(
                "honest",
                "Plain walls",
                "A textured area with a blur of 2 px beside a plain wall, with noise of 14 kinds. Each column has the "
                "worst of these kinds.",
                ("noise", "wall within 2 (%)", "wall off by (px)", "wall's standard error (px)", "texture off by (%)"),
                walls,
            ),
            Section(
                "honest",
                "Impossible signs",
                "Two apertures at one focus: the wider one is nowhere the sharper. Share of pixels where the map "
                "has the impossible sign, unflagged and beyond 3 standard errors.",
                ("set", "pairs", "mean (%)", "worst pair (%)", "unflagged (%)"),
                _signs(rows["signs"]),
            ),
        ),
    )


def _signs(rows: Any) -> Rows:
    table = []
    for name in dict.fromkeys(row["set"] for row in rows):
        those = [row for row in rows if row["set"] == name]
        wrong, unflagged = ([row[key] for row in those] for key in ("impossible", "unflagged"))
        shares = (percent(np.mean(wrong), 2), percent(max(wrong), 2), percent(np.mean(unflagged)))
        table.append((name, str(len(those)), *shares))
    return table


def _draw_scenes(figure: Any) -> None:
    rows = record("honest")["rows"]["scenes"]
    names = [f"{row['scene']}\n{row['place']}" for row in rows]
    places = np.arange(len(rows))
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    for number, normal in enumerate((68.3, 95.4, 99.7)):
        shares = [100 * row["coverage_unflagged"][number] for row in rows]
        left.bar(places + 0.27 * (number - 1), shares, 0.25, color=f"C{number}", label=f"within {number + 1}")
        left.axhline(normal, color=f"C{number}", linewidth=0.8, linestyle="--")
    left.set_xticks(places, names, fontsize="x-small", rotation=60)
    left.set_ylabel("unflagged pixels (%)")
    left.set_ylim(40, 101)
    right.bar(places, [100 * row["wrong"] / row["unflagged"] for row in rows], color="C3")
    right.set_xticks(places, names, fontsize="x-small", rotation=60)
    right.set_ylabel("unflagged pixels that are wrong (%)")
    right.legend(
        *left.get_legend_handles_labels(), fontsize="small", title="left; dashed: normal", title_fontsize="small"
    )


def compression() -> Page:
    """JPEG."""
    rows = record("honest")["rows"]["jpeg"]
    table = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        those = [row for row in rows if row["kind"] == kind and row["photograph"] != "mean"]
        every, unflagged = ([row for row in those if row["pixels"] == name] for name in ("all", "unflagged"))
        errors = (np.mean([row["error"] for row in group]) for group in (every, unflagged))
        within = (np.mean([row["within"][k] for row in unflagged]) for k in range(2))
        table.append((kind, *(f"{error:.2f}" for error in errors), *(percent(share) for share in within)))
    section = Section(
        "honest",
        "JPEG quality",
        "Five photographs, blur of 1 to 2 px, noise 0.3 %, 8-bit sRGB, stored and read again. Mean relative error of "
        "sigma; share of unflagged pixels within 1 and 2 standard errors.",
        ("file", "error, all (%)", "error, unflagged (%)", "within 1 (%)", "within 2 (%)"),
        table,
        _draw_compression,
    )
    return Page("compression", "Compressed photographs", (section,))


def _draw_compression(figure: Any) -> None:
    rows = [row for row in record("honest")["rows"]["jpeg"] if row["photograph"] != "mean"]
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    for axis, pixels in zip(figure.subplots(1, 2, sharey=True), ("all", "unflagged"), strict=True):
        for name in dict.fromkeys(row["photograph"] for row in rows):
            found = {row["kind"]: row["error"] for row in rows if (row["photograph"], row["pixels"]) == (name, pixels)}
            axis.plot(kinds, [found[kind] for kind in kinds], ".-", label=name)
        axis.set_title(f"{pixels} pixels", fontsize="small")
    figure.axes[0].set_ylabel("mean relative error (%)")
    figure.axes[1].legend(fontsize="small")


def violations() -> Page:
    """Pairs that break the assumptions."""
    rows = record("violations")["rows"]
    worst = sorted(rows, key=lambda row: -row["beyond_3"])[:8]
    table = [
        (
            row["kind"],
            percent(row["unflagged"]),
            percent(row["beyond_3"]),
            percent(row["worst_beyond_3"]),
            f"{row['doubted']} of {row['of']}",
        )
        for row in worst
    ]
    section = Section(
        "violations",
        "One fault at a time",
        "Six photographs of 256 x 256 px, 8 bits, noise 0.003, each spoiled in one way and measured without "
        "preparation. The table has the eight worst faults; errors are shares of unflagged pixels.",
        ("fault", "unflagged (%)", "beyond 3 (%)", "worst photograph (%)", "warned"),
        table,
        _draw_violations,
    )
    return Page("violations", "Violated assumptions", (section,))


def _draw_violations(figure: Any) -> None:
    rows = record("violations")["rows"][::-1]
    figure.set_figheight(5.4)
    axis = figure.subplots()
    places = np.arange(len(rows))
    axis.barh(places, [100 * row["beyond_3"] for row in rows], color="C3", label="mean of six")
    axis.plot([100 * row["worst_beyond_3"] for row in rows], places, "k|", label="worst photograph")
    axis.set_yticks(places, [row["kind"] for row in rows], fontsize="x-small")
    axis.set_xlabel("unflagged pixels beyond 3 standard errors (%)")
    axis.legend(fontsize="small")


def depth() -> Page:
    """Rendered scenes with disc blur."""
    rows = record("depth")["rows"]
    methods = list(dict.fromkeys(row["method"] for row in rows["renders"]))
    by = {(row["method"], row["scene"]): row for row in rows["renders"]}
    table = []
    for method in methods:
        seconds = np.mean([by[method, scene]["cpu_seconds"] for scene in ("plane", "stairs", "poles")])
        cells = []
        for scene in ("plane", "stairs", "poles"):
            every, off = (by[method, scene][key] for key in ("all", "off_edges"))
            cells.append(short(every) if every == off else f"{short(every)} ({short(off)})")
        table.append((f"`{method}`", *cells, f"{seconds:.1f}"))
    hard = [
        (
            row["scene"].partition(".")[0],
            row["psf"],
            percent(row["unflagged"]),
            short(row["median"]),
            percent(row["within_1"]),
        )
        for row in rows["hard"]
        if row["scene"].endswith(".jpg")
    ]
    return Page(
        "depth",
        "Depth",
        (
            Section(
                "depth",
                "Rendered scenes",
                "640 x 480 px, disc blur, occlusion, focus at 1 m and 2 m, true depth. Mean |z error| / z in percent "
                "over all pixels, and in brackets more than 8 px from depth edges.",
                ("function", "plane", "stairs", "poles", "CPU s"),
                table,
                _draw_depth,
            ),
            Section(
                "depth",
                "Scenes with plain walls",
                "Path-traced scenes stored as JPEG 95. Unflagged pixels: median |1/z error| (1/m) and share within one "
                "standard error.",
                ("scene", "psf", "unflagged (%)", "median error (1/m)", "within 1 (%)"),
                hard,
            ),
        ),
    )


def _draw_depth(figure: Any) -> None:
    renders = record("depth")["rows"]["renders"]
    scenes = ("plane", "stairs", "poles")
    axis = figure.subplots()
    methods = list(dict.fromkeys(row["method"] for row in renders))
    for number, method in enumerate(methods):
        found = {row["scene"]: row["all"] for row in renders if row["method"] == method}
        axis.bar(np.arange(3) + 0.27 * (number - 1), [found[scene] for scene in scenes], 0.25, label=method)
    axis.set_xticks(range(3), scenes)
    axis.set_yscale("log")
    axis.set_ylabel("mean |z error| / z (%)")
    axis.legend(fontsize="small")


def relative() -> Page:
    """The methods on rendered pairs."""
    rows = record("real")["rows"]["renders"]
    by = {(row["method"], row["scene"]): row for row in rows}
    table = []
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = [short(by[method, scene]["all"]) for scene in ("plane", "stairs", "poles")]
        table.append((method, *cells, f"{by[method, 'plane']['seconds']:.1f}"))
    section = Section(
        "real",
        "Depth from the blur of each method",
        "The rendered scenes of [depth](depth.md), depth computed from the relative blur; the blur constant is fitted "
        "on the plane. Mean |z error| / z in percent over all pixels. Seconds of one thread, plane.",
        ("method", "plane", "stairs", "poles", "seconds"),
        table,
        _draw_relative,
    )
    return Page("methods", "Methods compared", (section,))


def _draw_relative(figure: Any) -> None:
    rows = record("real")["rows"]["renders"]
    axis = figure.subplots()
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for number, scene in enumerate(("plane", "stairs", "poles")):
        found = {row["method"]: row["all"] for row in rows if row["scene"] == scene}
        axis.barh(np.arange(len(methods)) + 0.27 * (number - 1), [found[name] for name in methods], 0.25, label=scene)
    axis.set_yticks(range(len(methods)), methods, fontsize="small")
    axis.set_xscale("log")
    axis.set_xlabel("mean |z error| / z (%)")
    axis.invert_yaxis()
    axis.legend(fontsize="small")


def stacks() -> Page:
    """Focal stacks and fused pictures."""
    rows = record("stacks")["rows"]
    generated = [
        (
            str(row["stack"]),
            f"{row['rms']:.3f}",
            f"{row['laplacian_rms']:.3f}",
            percent(row["within_1"]),
            percent(row["within_2"]),
        )
        for row in rows["generated"]["rows"]
    ]
    hard = [
        (
            row["scene"],
            f"{row['mean_abs_z_error']:.4f}",
            f"{row['two_images']:.4f}",
            f"{row['laplacian']:.3f}",
            percent(row["within_1"]),
        )
        for row in rows["hard"]["rows"]
    ]
    names = {"realmff": "nine pairs of Real-MFF", "made": "three stacks of seven frames"}
    keys = ("relblur", "focus_stack", "laplacian_pixel", "laplacian_window")
    fused = [
        (names[row["set"]], *(f"{row[key]:.2f}" for key in keys))
        for row in rows["fused"]["rows"]
        if row["name"] == "mean"
    ]
    return Page(
        "stacks",
        "Stacks and fused pictures",
        (
            Section(
                "stacks",
                "Forty-one frames",
                "Three generated stacks, JPEG 75. RMS error of the frame in best focus, in frames, beside the largest "
                "Laplacian energy with the best window and a parabola.",
                ("stack", "relblur", "Laplacian", "within 1 (%)", "within 2 (%)"),
                generated,
                _draw_stacks,
            ),
            Section(
                "stacks",
                "Five frames with a known camera",
                "Rendered stacks, JPEG 95. Mean error of depth away from edges (m).",
                ("scene", "five frames", "two frames", "Laplacian", "within 1 (%)"),
                hard,
            ),
            Section(
                "stacks",
                "Fused pictures",
                "Mean PSNR against the sharp picture (dB). focus-stack is version 1.3.",
                ("pictures", "relblur", "focus-stack", "Laplacian, pixel", "Laplacian, window"),
                fused,
            ),
        ),
    )


def _draw_stacks(figure: Any) -> None:
    rows = record("stacks")["rows"]
    left, right = figure.subplots(1, 2)
    for axis, group, keys, label in (
        (left, rows["generated"]["rows"], ("rms", "laplacian_rms"), "RMS error (frames)"),
        (right, rows["hard"]["rows"], ("mean_abs_z_error", "two_images", "laplacian"), "mean error of depth (m)"),
    ):
        titles = {"rms": "relblur", "laplacian_rms": "Laplacian", "mean_abs_z_error": "relblur, five frames"}
        titles |= {"two_images": "relblur, two frames", "laplacian": "Laplacian, five frames"}
        places = np.arange(len(group))
        for number, key in enumerate(keys):
            axis.bar(places + 0.27 * number, [row[key] for row in group], 0.25, label=titles[key])
        axis.set_xticks(places + 0.2, [f"stack {row['stack']}" if "stack" in row else row["scene"] for row in group])
        axis.set_yscale("log")
        axis.set_ylabel(label)
        axis.legend(fontsize="small")


def video() -> Page:
    """What lossy codecs cost."""
    rows = record("video")["rows"]["codecs"]
    table = []
    for codec in dict.fromkeys(row["codec"] for row in rows):
        those = [row for row in rows if row["codec"] == codec]
        plain, command = (
            np.mean([_cells(row[key]) for row in those], axis=0) for key in ("told_nothing", "as_the_command")
        )
        table.append((codec, f"{command[1]:.3f}", f"{command[0]:.0f}", f"{plain[3]:.0f}", f"{command[3]:.0f}"))
    section = Section(
        "video",
        "Codecs",
        "A ramp from -2 to +2 px on three panning photographs with 0.3 % noise, by `Stream` and by `relblur video`, "
        "which accounts for the codec. Median error of sigma, and pixels within two standard errors.",
        ("codec", "error (px)", "answered (%)", "within 2, `Stream` (%)", "within 2, `video` (%)"),
        table,
        _draw_video,
    )
    return Page("video", "Video codecs", (section,))


def _cells(text: str) -> list[float]:
    return [float(cell.rstrip("%")) for cell in text.split()]


def _draw_video(figure: Any) -> None:
    rows = record("video")["rows"]["codecs"]
    codecs = list(dict.fromkeys(row["codec"] for row in rows))
    left, right = figure.subplots(1, 2)
    for image in dict.fromkeys(row["image"] for row in rows):
        found = {row["codec"]: _cells(row["as_the_command"]) for row in rows if row["image"] == image}
        left.plot([found[codec][1] for codec in codecs], ".-", label=image)
        right.plot([found[codec][3] for codec in codecs], ".-", label=image)
    right.axhline(95.4, color="k", linestyle="--", linewidth=0.8)
    for axis, label in ((left, "median error (px)"), (right, "within 2 standard errors (%)")):
        axis.set_xticks(range(len(codecs)), codecs, rotation=60, fontsize="x-small", ha="right")
        axis.set_ylabel(label)
    left.legend(fontsize="small")


def scaling() -> Page:
    """Workers, slides, rigs."""
    pairs = [row for row in record("scaling_pairs")["rows"] if "workers" in row]
    slide = [
        (
            row["method"],
            f"{row['side'] // row['decimate']}",
            f"{row['peak_gb']:.2f}",
            f"{row['cpu_s']:.0f}",
            percent(row["error"], 1),
        )
        for row in record("scaling_slide")["rows"]
    ]
    rig = [
        (
            f"{row['shape'][0]} x {row['shape'][1]}",
            row["motion"],
            f"{row['ratio']:.1f}",
            f"{row['s_error_px2']:+.4f}",
        )
        for row in record("rig")["rows"]
    ]
    return Page(
        "scaling",
        "Scaling",
        (
            Section(
                "scaling_pairs",
                "Many pairs",
                "`relblur batch` on pairs of 625 x 433 px, each run twice, two cores.",
                ("workers", "seconds a pair", "of these estimating"),
                [(str(r["workers"]), f"{r['seconds_per_pair']:.1f}", f"{r['compute_per_pair']:.1f}") for r in pairs],
                _draw_scaling,
            ),
            Section(
                "scaling_slide",
                "A pair of 400 megapixels",
                "20 000 x 20 000 px, float32, in chunks. Median relative error of sigma.",
                ("method", "side of the map (px)", "peak memory (GB)", "CPU s", "error (%)"),
                slide,
            ),
            Section(
                "rig",
                "A stream that is calibrated",
                "Processor time of `Stream` with a calibration over that without, and the error of s (px^2).",
                ("frame", "motion", "time", "error of s"),
                rig,
            ),
        ),
    )


def _draw_scaling(figure: Any) -> None:
    axis = figure.subplots()
    rows = record("scaling_simulation")["rows"]
    for what in dict.fromkeys(row["what"] for row in rows):
        those = [row for row in rows if row["what"] == what]
        axis.plot([row["workers"] for row in those], [row["simulated_s"] / 3600 for row in those], ".-", label=what)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlabel("workers (simulated from measured times)")
    axis.set_ylabel("hours")
    axis.legend(fontsize="small")


def photographs() -> Page:
    """Photographed sets as the command measures them."""
    sets = record("sets_command")["rows"]
    table = []
    for name, pairs in sets.items():
        found = list(pairs.values())
        table.append(
            (
                name,
                str(len(found)),
                span(each["settings"]["decimate"] for each in found),
                span(100 * each["answered_fraction"] for each in found),
                span(100 * each["flag_shares"].get("no flag", 0) for each in found),
            )
        )
    section = Section(
        "sets_command",
        "Sets of pairs, `relblur estimate` with its defaults",
        "Light-field pairs (lytro), two apertures (dpdd_gif), two exposures of a phone (pixel4_dp).",
        ("set", "pairs", "decimated by", "answered (%)", "unflagged (%)"),
        table,
        _draw_photographs,
    )
    return Page("photographs", "Photographed sets", (section,))


def _draw_photographs(figure: Any) -> None:
    axis = figure.subplots()
    for number, (name, pairs) in enumerate(record("sets_command")["rows"].items()):
        unflagged = [100 * each["flag_shares"].get("no flag", 0) for each in pairs.values()]
        error = [each["median_stderr_px"] for each in pairs.values()]
        axis.plot(unflagged, error, "o", color=f"C{number}", label=name, markersize=4)
    axis.set_xlabel("pixels without a flag (%)")
    axis.set_ylabel("median standard error (px)")
    axis.legend(fontsize="small")


#: Contestants of benchmarks/speed.py that the page shows, and their titles.
CONTESTANTS = {
    "Y1": "OpenCV, 50 Gaussians and argmin",
    "Y1t, 3 sigma": "the same, tuned",
    "S": "S-transform, prefilter 1.5 px",
    "Stream, first": "`Stream`, sharper image stated",
    "Stream, auto": "`Stream`, direction found",
    "estimate_blur window, compiled": '`method="window"`',
    "estimate_blur refined, compiled": '`method="refined"`',
    "estimate_blur paper, opencv": '`method="paper"`',
}


def speed() -> Page:
    """Real time beside rivals."""
    times = record("speed")["rows"]["sizes"]["480x640"]
    table = []
    for name, title in CONTESTANTS.items():
        if name in times:
            found = times[name]
            table.append((title, *(f"{found[key]:.1f}" for key in ("wall_least", "wall_median", "cpu_median"))))
    section = Section(
        "speed",
        "A pair of 480 x 640 px",
        "Milliseconds, all contestants in turn in one process, two threads.",
        ("contestant", "wall, least", "wall, median", "CPU, median"),
        table,
        _draw_speed,
    )
    return Page("speed", "Speed", (section,))


def _draw_speed(figure: Any) -> None:
    times = record("speed")["rows"]["sizes"]["480x640"]
    names = [name for name in CONTESTANTS if name in times][::-1]
    axis = figure.subplots()
    axis.barh([CONTESTANTS[name].replace("`", "") for name in names], [times[name]["wall_median"] for name in names])
    axis.set_xscale("log")
    axis.set_xlabel("milliseconds a pair, wall time, median")


MAKERS = {
    "accuracy": accuracy,
    "methods": relative,
    "error_bars": error_bars,
    "compression": compression,
    "violations": violations,
    "depth": depth,
    "stacks": stacks,
    "photographs": photographs,
    "video": video,
    "scaling": scaling,
    "speed": speed,
}
#: Records that each page is made from.
RECORDS = {
    "accuracy": ("accuracy",),
    "methods": ("real",),
    "error_bars": ("honest",),
    "compression": ("honest",),
    "violations": ("violations",),
    "depth": ("depth",),
    "stacks": ("stacks",),
    "photographs": ("sets_command",),
    "video": ("video",),
    "scaling": ("scaling_pairs", "scaling_slide", "scaling_simulation", "rig"),
    "speed": ("speed",),
}


def names() -> list[str]:
    """Return the pages whose records exist."""
    return [name for name, needed in RECORDS.items() if all((RESULTS / f"{each}.json").exists() for each in needed)]
