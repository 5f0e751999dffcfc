"""The plots of the pages of evidence, each drawn into a figure from its record."""

from __future__ import annotations

from typing import Any

import numpy as np
from evidence_records import CONTESTANTS, accuracy_of, codec_cells, record


def draw_accuracy(figure: Any) -> None:
    """Errors of all pairs, and their medians."""
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


def draw_scenes(figure: Any) -> None:
    """Coverage and wrong pixels of the rendered scenes."""
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


def draw_compression(figure: Any) -> None:
    """Errors by JPEG quality."""
    rows = [row for row in record("honest")["rows"]["jpeg"] if row["photograph"] != "mean"]
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    for axis, pixels in zip(figure.subplots(1, 2, sharey=True), ("all", "unflagged"), strict=True):
        for name in dict.fromkeys(row["photograph"] for row in rows):
            found = {row["kind"]: row["error"] for row in rows if (row["photograph"], row["pixels"]) == (name, pixels)}
            axis.plot(kinds, [found[kind] for kind in kinds], ".-", label=name)
        axis.set_title(f"{pixels} pixels", fontsize="small")
    figure.axes[0].set_ylabel("mean relative error (%)")
    figure.axes[1].legend(fontsize="small")


def draw_violations(figure: Any) -> None:
    """Errors beyond 3 standard errors by fault."""
    rows = record("violations")["rows"][::-1]
    figure.set_figheight(5.4)
    axis = figure.subplots()
    places = np.arange(len(rows))
    axis.barh(places, [100 * row["beyond_3"] for row in rows], color="C3", label="mean of six")
    axis.plot([100 * row["worst_beyond_3"] for row in rows], places, "k|", label="worst photograph")
    axis.set_yticks(places, [row["kind"] for row in rows], fontsize="x-small")
    axis.set_xlabel("unflagged pixels beyond 3 standard errors (%)")
    axis.legend(fontsize="small")


def draw_depth(figure: Any) -> None:
    """Errors of depth by scene."""
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


def draw_stacks(figure: Any) -> None:
    """Errors of stacks."""
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


def draw_video(figure: Any) -> None:
    """Errors by codec."""
    rows = record("video")["rows"]["codecs"]
    codecs = list(dict.fromkeys(row["codec"] for row in rows))
    left, right = figure.subplots(1, 2)
    for image in dict.fromkeys(row["image"] for row in rows):
        found = {row["codec"]: codec_cells(row["as_the_command"]) for row in rows if row["image"] == image}
        left.plot([found[codec][1] for codec in codecs], ".-", label=image)
        right.plot([found[codec][3] for codec in codecs], ".-", label=image)
    right.axhline(95.4, color="k", linestyle="--", linewidth=0.8)
    for axis, label in ((left, "median error (px)"), (right, "within 2 standard errors (%)")):
        axis.set_xticks(range(len(codecs)), codecs, rotation=60, fontsize="x-small", ha="right")
        axis.set_ylabel(label)
    left.legend(fontsize="small")


def draw_scaling(figure: Any) -> None:
    """Seconds a pair by workers."""
    rows = [row for row in record("scaling_pairs")["rows"] if "workers" in row]
    axis = figure.subplots()
    axis.bar([str(row["workers"]) for row in rows], [row["seconds_per_pair"] for row in rows])
    axis.set_xlabel("workers")
    axis.set_ylabel("seconds a pair")


def draw_preparation(figure: Any) -> None:
    """Errors by step."""
    chain = record("chain")["rows"]["chain"]
    steps = list(next(iter(chain.values())))
    axis = figure.subplots()
    for name, row in chain.items():
        axis.plot(steps, [row[step]["error"] for step in steps], ".-", label=name, linewidth=0.8)
    axis.set_yscale("log")
    axis.set_ylabel("mean relative error (%)")
    axis.legend(fontsize="x-small", ncols=2)


def draw_photographs(figure: Any) -> None:
    """Standard errors of the pairs."""
    axis = figure.subplots()
    for number, (name, pairs) in enumerate(record("sets_command")["rows"].items()):
        unflagged = [100 * each["flag_shares"].get("no flag", 0) for each in pairs.values()]
        error = [each["median_stderr_px"] for each in pairs.values()]
        axis.plot(unflagged, error, "o", color=f"C{number}", label=name, markersize=4)
    axis.set_xlabel("pixels without a flag (%)")
    axis.set_ylabel("median standard error (px)")
    axis.legend(fontsize="small")


def draw_speed(figure: Any) -> None:
    """Milliseconds a pair."""
    times = record("speed")["rows"]["sizes"]["480x640"]
    names = [name for name in CONTESTANTS if name in times][::-1]
    axis = figure.subplots()
    axis.barh([CONTESTANTS[name].replace("`", "") for name in names], [times[name]["cpu_median"] for name in names])
    axis.set_xscale("log")
    axis.set_xlabel("milliseconds a pair, processor time, median")


def draw_paper(figure: Any) -> None:
    """Errors of the ramps by method."""
    rows = record("framework")["rows"]["ramps"]
    axis = figure.subplots()
    for method in dict.fromkeys(row["method"] for row in rows):
        found = [row for row in rows if row["method"] == method]
        axis.plot(
            [100 * row["error"] for row in found], [row["image"] for row in found], "o", markersize=4, label=method
        )
    axis.axvline(1.73, color="k", linestyle="--", linewidth=0.8, label="rounding to 0.1 px")
    axis.set_xscale("log")
    axis.set_xlabel("mean relative error (%)")
    axis.legend(fontsize="small")


def draw_alignment(figure: Any) -> None:
    """RMS distances by motion, and the blur that interpolations add."""
    rows = record("alignment")["rows"]
    left, right = figure.subplots(1, 2)
    for number, motion in enumerate(next(iter(rows["motion"].values()))):
        found = [values[0] for row in rows["motion"].values() for values in row[motion].values()]
        left.plot(found, [motion] * len(found), "o", color=f"C{number}", markersize=4, alpha=0.6)
    left.set_xscale("log")
    left.set_xlabel("RMS distance (px)")
    for number, name in enumerate(next(iter(rows["resampling"].values()))):
        added = [abs(row[name]) for row in rows["resampling"].values()]
        right.plot(added, [name] * len(added), "o", color=f"C{number}", markersize=4, alpha=0.6)
    right.set_xscale("log")
    right.set_xlabel("blur added to s (px^2)")
    for axis in (left, right):
        axis.tick_params(axis="y", labelsize="x-small")
        axis.invert_yaxis()
