"""The pages of evidence: what each shows of which records of benchmarks/results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import evidence_plots as plots
import numpy as np
from evidence_records import CONTESTANTS, accuracy_of, codec_cells, grouped, percent, record, short, span

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """One record of a page: what is measured, its plot, its table."""

    record: str
    title: str
    measured: str
    heads: str
    rows: Rows
    draw: Callable[[Any], None] | None = None

    @property
    def columns(self) -> list[str]:
        """Headings of the table."""
        return self.heads.split(" | ")


@dataclass(frozen=True)
class Page:
    """A page of evidence."""

    name: str
    title: str
    sections: list[Section]


def accuracy() -> list[Section]:
    """Synthetic pairs."""
    rows = record("accuracy")["rows"]
    kinds = list(dict.fromkeys(row["data"] for row in rows))
    table = []
    for kind in kinds:
        stated, automatic = (accuracy_of(rows, kind, method) for method in ("refined", "refined auto"))
        within = np.mean([row["coverage_percent"] for row in rows if row["data"] == kind])
        worst = short(max(*stated, *automatic))
        table.append((kind, short(np.median(stated)), short(np.median(automatic)), worst, f"{within:.0f}"))
    return [
        Section(
            "accuracy",
            "Known blur on ten photographs",
            "Mean relative error of sigma over all pixels (percent), for eight fields of known blur on ten photographs "
            "of scikit-image. Table: median and largest value over images and fields, and the share of pixels within "
            "one standard error (68 % is ideal).",
            "data | sharper image stated | direction found | largest error | within 1 (%)",
            table,
            plots.draw_accuracy,
        )
    ]


def error_bars() -> list[Section]:
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
    for noise, those in grouped(rows["walls"], "noise").items():
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
    return [
        Section(
            "honest",
            "Rendered scenes",
            "Four path-traced scenes of 640 x 480 px with sensor noise, 8-bit sRGB, JPEG 95. Off edges: more than "
            "10 px from a depth edge. Wrong: beyond 3 standard errors and by more than 0.5 px.",
            "scene, place | unflagged (%) | of these wrong (%) | within 1 (%) | within 2 (%)",
            scenes,
            plots.draw_scenes,
        ),
        Section(
            "honest",
            "Plain walls",
            "A textured area with a blur of 2 px beside a plain wall, with noise of 14 kinds. Each column has the "
            "worst of these kinds.",
            "noise | wall within 2 (%) | wall off by (px) | wall's standard error (px) | texture off by (%)",
            walls,
        ),
        Section(
            "honest",
            "Impossible signs",
            "Two apertures at one focus: the wider one is nowhere the sharper. Share of pixels where the map "
            "has the impossible sign, unflagged and beyond 3 standard errors.",
            "set | pairs | mean (%) | worst pair (%) | unflagged (%)",
            _signs(rows["signs"]),
        ),
    ]


def _signs(rows: Any) -> Rows:
    table = []
    for name, those in grouped(rows, "set").items():
        wrong, unflagged = ([row[key] for row in those] for key in ("impossible", "unflagged"))
        shares = (percent(np.mean(wrong), 2), percent(max(wrong), 2), percent(np.mean(unflagged)))
        table.append((name, str(len(those)), *shares))
    return table


def compression() -> list[Section]:
    """JPEG."""
    rows = record("honest")["rows"]["jpeg"]
    table = []
    for kind, those in grouped([row for row in rows if row["photograph"] != "mean"], "kind").items():
        every, unflagged = ([row for row in those if row["pixels"] == name] for name in ("all", "unflagged"))
        errors = (np.mean([row["error"] for row in group]) for group in (every, unflagged))
        within = (np.mean([row["within"][k] for row in unflagged]) for k in range(2))
        table.append((kind, *(f"{error:.2f}" for error in errors), *(percent(share) for share in within)))
    return [
        Section(
            "honest",
            "JPEG quality",
            "Five photographs, blur of 1 to 2 px, noise 0.3 %, 8-bit sRGB, stored and read again. Mean relative error "
            "of sigma; share of unflagged pixels within 1 and 2 standard errors.",
            "file | error, all (%) | error, unflagged (%) | within 1 (%) | within 2 (%)",
            table,
            plots.draw_compression,
        )
    ]


def violations() -> list[Section]:
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
    return [
        Section(
            "violations",
            "One fault at a time",
            "Six photographs of 256 x 256 px, 8 bits, noise 0.003, each spoiled in one way and measured without "
            "preparation. The table has the eight worst faults; errors are shares of unflagged pixels.",
            "fault | unflagged (%) | beyond 3 (%) | worst photograph (%) | warned",
            table,
            plots.draw_violations,
        )
    ]


def depth() -> list[Section]:
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
    return [
        Section(
            "depth",
            "Rendered scenes",
            "640 x 480 px, disc blur, occlusion, focus at 1 m and 2 m, true depth. Mean |z error| / z in percent "
            "over all pixels, and in brackets more than 8 px from depth edges.",
            "function | plane | stairs | poles | CPU s",
            table,
            plots.draw_depth,
        ),
        Section(
            "depth",
            "Scenes with plain walls",
            "Path-traced scenes stored as JPEG 95. Unflagged pixels: median |1/z error| (1/m) and share within one "
            "standard error.",
            "scene | psf | unflagged (%) | median error (1/m) | within 1 (%)",
            hard,
        ),
    ]


def stacks() -> list[Section]:
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
    made = []
    for noise in ("none", "noise", "JPEG 90"):
        those = [row for row in rows["made"]["rows"] if row["noise"] == noise]
        errors, medians = ([row[key] for row in those] for key in ("rms", "median"))
        within = percent(float(np.mean([row["within_2"] for row in those])))
        made.append((noise, f"{np.mean(medians):.3f}", f"{np.mean(errors):.3f}", f"{max(errors):.3f}", within))
    zones = ("halo", "foreground", "background", "cpu_s")
    halo = []
    for method in dict.fromkeys(row["method"] for row in rows["halo"]["rows"]):
        those = [row for row in rows["halo"]["rows"] if row["method"] == method]
        means = [np.mean([row[zone] for row in those]) if those[0][zone] is not None else None for zone in zones]
        halo.append((method.replace("_", " "), *("" if mean is None else f"{mean:.1f}" for mean in means)))
    pairs = sum(row["set"] == "realmff" for row in rows["fused"]["rows"]) - 1
    names = {"realmff": f"{pairs} pairs of Real-MFF", "made": "three stacks of seven frames"}
    keys = ("relblur", "focus_stack", "laplacian_pixel", "laplacian_window")
    fused = [
        (names[row["set"]], *(f"{row[key]:.2f}" for key in keys))
        for row in rows["fused"]["rows"]
        if row["name"] == "mean"
    ]
    return [
        Section(
            "stacks",
            "Forty-one frames",
            "Three generated stacks, JPEG 75. RMS error of the frame in best focus, in frames, beside the largest "
            "Laplacian energy with the best window and a parabola.",
            "stack | relblur | Laplacian | within 1 (%) | within 2 (%)",
            generated,
            plots.draw_stacks,
        ),
        Section(
            "stacks",
            "Stacks made from photographs",
            "Twelve stacks of 12 to 31 frames, every other one with a disc in front of a surface. Error of the "
            "unflagged pixels away from edges, in frames: mean of the medians, mean and largest RMS.",
            "noise | median | RMS | largest RMS | within 2 (%)",
            made,
        ),
        Section(
            "stacks",
            "Five frames with a known camera",
            "Rendered stacks, JPEG 95. Mean error of depth away from edges (m).",
            "scene | five frames | two frames | Laplacian | within 1 (%)",
            hard,
        ),
        Section(
            "stacks",
            "Fused pictures",
            "Mean PSNR against the sharp picture (dB). focus-stack is version 1.3.",
            "pictures | relblur | focus-stack | Laplacian, pixel | Laplacian, window",
            fused,
        ),
        Section(
            "stacks",
            "Halos",
            "Bright bristles and lights before a background that no frame has in focus; twelve frames, mean of "
            "three scenes. RMS error (of 255) beside the bristles, on them, and in the background; CPU time (s).",
            "method | halo zone | foreground | background | CPU (s)",
            halo,
        ),
    ]


def video() -> list[Section]:
    """What lossy codecs cost."""
    rows = record("video")["rows"]["codecs"]
    table = []
    for codec, those in grouped(rows, "codec").items():
        plain, command = (
            np.mean([codec_cells(row[key]) for row in those], axis=0) for key in ("told_nothing", "as_the_command")
        )
        table.append((codec, f"{command[1]:.3f}", f"{command[0]:.0f}", f"{plain[3]:.0f}", f"{command[3]:.0f}"))
    return [
        Section(
            "video",
            "Codecs",
            "A ramp from -2 to +2 px on three panning photographs with 0.3 % noise, by `Stream` and by `relblur "
            "video`, which accounts for the codec. Median error of sigma, and pixels within two standard errors.",
            "codec | error (px) | answered (%) | within 2, `Stream` (%) | within 2, `video` (%)",
            table,
            plots.draw_video,
        )
    ]


def scaling() -> list[Section]:
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
    return [
        Section(
            "scaling_pairs",
            "Many pairs",
            "`relblur tools batch` on pairs of 625 x 433 px, each run twice, two cores.",
            "workers | seconds a pair | of these estimating",
            [(str(r["workers"]), f"{r['seconds_per_pair']:.1f}", f"{r['compute_per_pair']:.1f}") for r in pairs],
            plots.draw_scaling,
        ),
        Section(
            "scaling_slide",
            "A pair of 400 megapixels",
            "20 000 x 20 000 px, float32, in chunks. Median relative error of sigma.",
            "method | side of the map (px) | peak memory (GB) | CPU s | error (%)",
            slide,
        ),
        Section(
            "rig",
            "A stream that is calibrated",
            "Processor time of `Stream` with a calibration over that without, and the error of s (px^2).",
            "frame | motion | time | error of s",
            rig,
        ),
    ]


def preparation() -> list[Section]:
    """What linear light, alignment and exposure gain."""
    chain = record("chain")["rows"]["chain"]
    steps = []
    for step in next(iter(chain.values())):
        errors = [row[step]["error"] for row in chain.values()]
        within = np.mean([row[step]["within_2_stderr"] for row in chain.values()])
        cells = (f"{value:.2f}" for value in (np.median(errors), np.mean(errors), max(errors)))
        steps.append((step, *cells, percent(within)))
    return [
        Section(
            "chain",
            "What each step gains",
            "Ten photographs, blur of 1 to 2 px, moved, scaled, brightened, noise 0.3 %, 8-bit sRGB. Mean relative "
            "error of sigma in percent, with a step left out, and pixels within 2 standard errors.",
            "run | median (%) | mean (%) | worst (%) | within 2 (%)",
            steps,
            plots.draw_preparation,
        ),
    ]


def alignment() -> list[Section]:
    """How exact alignment and resampling are."""
    rows = record("alignment")["rows"]
    motions = []
    for motion in next(iter(rows["motion"].values())):
        found = [values for row in rows["motion"].values() for values in row[motion].values()]
        rms, corner = ([values[k] for values in found] for k in (0, 1))
        motions.append((motion, *(f"{value:.3f}" for value in (np.median(rms), max(rms), max(corner)))))
    resampling = []
    for name in next(iter(rows["resampling"].values())):
        values = [row[name] for row in rows["resampling"].values()]
        resampling.append((name, f"{np.mean(values):+.4f}", f"{max(values, key=abs):+.4f}"))
    return [
        Section(
            "alignment",
            "Alignment",
            "Distance between where a pixel was put and where it is, over ten photographs and three blurs (px).",
            "motion | RMS, median | RMS, largest | corner, largest",
            motions,
            plots.draw_alignment,
        ),
        Section(
            "alignment",
            "Resampling",
            "Blur that an interpolation adds at half a pixel in both directions (px^2 of s).",
            "interpolation | mean | largest",
            resampling,
        ),
    ]


def photographs() -> list[Section]:
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
    return [
        Section(
            "sets_command",
            "Sets of pairs, `relblur estimate` with its defaults",
            "Light-field pairs (lytro), two apertures (dpdd_gif), blurred and sharp pictures of a phone (pixel4_dp).",
            "set | pairs | decimated by | answered (%) | unflagged (%)",
            table,
            plots.draw_photographs,
        )
    ]


def paper() -> list[Section]:
    """The paper's Fig. 1 on ten photographs."""
    rows = record("framework")["rows"]
    ramps = []
    for method, those in grouped(rows["ramps"], "method").items():
        error, remade = ([row[key] for row in those] for key in ("error", "remade"))
        errors = (f"{100 * value:.3f}" for value in (np.median(error), max(error)))
        ramps.append((f"`{method}`", *errors, f"{np.median(remade):.6f}", f"{max(remade):.6f}"))
    harder = []
    for (bits, sharper), those in grouped(rows["harder_ramps"], "bits", "sharper").items():
        shares = (span((100 * row[key] for row in those), 1) for key in ("own_answer_error", "filled", "error"))
        harder.append((str(bits), sharper, *shares))
    return [
        Section(
            "framework",
            "Ramps from 1 to 2 px",
            "Ten photographs, two directions, float, sharper image stated, flat pixels left out. Mean relative "
            "error of sigma, and mean error of the re-made image (0..1).",
            "method | error, median (%) | largest (%) | re-made, median | largest",
            ramps,
            plots.draw_paper,
        ),
        Section(
            "framework",
            "Rounded values, direction unknown",
            "The paper's method on the same pairs. Ranges over photographs and directions, in percent.",
            "bits | sharper | error of own answers | filled | error of all",
            harder,
        ),
    ]


def speed() -> list[Section]:
    """Real time beside rivals."""
    times = record("speed")["rows"]["sizes"]["480x640"]
    table = []
    for name, title in CONTESTANTS.items():
        if name in times:
            found = times[name]
            table.append((title, *(f"{found[key]:.1f}" for key in ("wall_least", "wall_median", "cpu_median"))))
    return [
        Section(
            "speed",
            "A pair of 480 x 640 px",
            "Milliseconds, all contestants in turn in one process, two threads.",
            "contestant | wall, least | wall, median | CPU, median",
            table,
            plots.draw_speed,
        )
    ]


#: Title and sections of each page.
PAGES = {
    "accuracy": ("Accuracy on synthetic pairs", accuracy),
    "error_bars": ("Standard errors and flags", error_bars),
    "compression": ("Compressed photographs", compression),
    "violations": ("Violated assumptions", violations),
    "depth": ("Depth", depth),
    "stacks": ("Stacks and fused pictures", stacks),
    "preparation": ("Preparation of photographs", preparation),
    "alignment": ("Alignment and resampling", alignment),
    "photographs": ("Photographed sets", photographs),
    "video": ("Video codecs", video),
    "scaling": ("Scaling", scaling),
    "paper": ("The paper's Fig. 1", paper),
    "speed": ("Speed", speed),
}


def all_pages() -> list[Page]:
    """Return all pages, made from their records."""
    return [Page(name, title, make()) for name, (title, make) in PAGES.items()]
