"""Draw the pictures of the cases: docs/images/cases/<case>.png, as `picture` of each case.yaml says.

    .venv/bin/python docs/draw_cases.py [case ...]

Runs each case once at the size that its picture names and samples the surfaces at the end of the run.
"""

from __future__ import annotations

import dataclasses
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from workflows import inputs  # noqa: E402
from workflows.applications import application, tools  # noqa: E402
from workflows.domain import Case  # noqa: E402
from workflows.study.cases import case_files, find, load_case, read_case_file  # noqa: E402

openfoam = application("openfoam")

TIME_LIMIT_SECONDS = 3600
WIDTH_INCHES, BAR_INCHES, DOTS_PER_INCH, COLOURS = 7.0, 1.2, 100, 255
LIGHT = np.array([0.4, 0.5, 0.77])
MESH_LINES, DARKER = 25_000, (0.7, 0.7, 0.7, 1)
"""Up to so many faces, the mesh of patches is drawn with darker lines."""

_SURFACES = """
picture
{{
    type surfaces;
    libs (sampling);
    executeControl none;
    writeControl onEnd;
    surfaceFormat vtk;
    formatOptions {{ vtk {{ legacy true; format ascii; }} }}
    interpolationScheme cell;
    fields ({field});
    surfaces
    {{
        {surfaces}
    }}
}}
"""


def main() -> None:
    """Draw the cases that the command line names, or all that say how."""
    names = sys.argv[1:] or list(case_files(ROOT / "cases"))
    for name in names:
        document = read_case_file(find(name, ROOT / "cases"))
        if "picture" in document and document["application"] == "openfoam":
            picture = inputs.defaults("case_openfoam", "picture") | document["picture"]
            case = load_case(f"{name}-{picture['size']}", ROOT / "cases")
            file = ROOT / f"docs/images/cases/{name}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            draw(sample(case, picture), picture, file)
            print(f"{file}: {file.stat().st_size / 1000:.0f} kB", flush=True)


def sample(case: Case, picture: dict[str, Any]) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """Run a case and read its surfaces.

    Returns
    -------
    list of (array, array, bool)
        Of each surface the corners of its faces, faces × corners × 3 (triangles repeat a corner), the
        field's values, and whether it is a plane.
    """
    case = dataclasses.replace(case, parameters=case.parameters | {"iterations": picture["iterations"]})
    names = {f"patch{place}": False for place in range(len(picture["patches"]))}
    names |= {f"plane{place}": True for place in range(len(picture["planes"]))}
    patches = [
        f"patch{place} {{ type patch; patches ({patch}); triangulate false; }}"
        for place, patch in enumerate(picture["patches"])
    ]
    planes = [
        f"plane{place} {{ type cuttingPlane; planeType pointAndNormal; pointAndNormalDict "
        f"{{ point ({x} {y} {z}); normal ({i} {j} {k}); }} triangulate false; }}"
        for place, (x, y, z, i, j, k) in enumerate(picture["planes"])
    ]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "case"
        openfoam.prepare(case, 1, folder, None)
        with (folder / "system/functions").open("a") as functions:
            functions.write(
                _SURFACES.format(field=picture["field"], surfaces="\n        ".join(patches + planes))
            )
        tools.run_program(openfoam.command(case, 1), folder, os.environ | openfoam.environment(case), str)
        found = {name: next(folder.glob(f"postProcessing/picture/*/{name}.vtk")) for name in names}
        return [(*read_surface(found[name]), plane) for name, plane in names.items()]


def read_surface(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the faces and the first field of a legacy VTK file in text: see `sample`."""
    words = file.read_text().split()
    at = words.index("POINTS")
    count = int(words[at + 1])
    points = np.array(words[at + 3 : at + 3 + 3 * count], float).reshape(-1, 3)
    at = words.index("POLYGONS")
    faces, length = int(words[at + 1]), int(words[at + 2])
    flat = iter(map(int, words[at + 3 : at + 3 + length]))
    loops = [[next(flat) for _ in range(next(flat))] for _ in range(faces)]
    longest = max(map(len, loops))
    corners = points[np.array([loop + [loop[-1]] * (longest - len(loop)) for loop in loops])]
    at = words.index("FIELD", at) + 3
    components, values = int(words[at + 1]), int(words[at + 2])
    field = np.array(words[at + 4 : at + 4 + components * values], float).reshape(values, components)
    return corners, field[:, 0] if components == 1 else np.linalg.norm(field, axis=1)


def draw(surfaces: list[tuple[np.ndarray, np.ndarray, bool]], picture: dict[str, Any], file: Path) -> None:
    """Draw surfaces, those in front over those behind."""
    parts = []
    for corners, values, plane in surfaces:
        if box := picture.get("box"):
            centre = corners.mean(axis=1)
            inside = ((centre >= box[::2]) & (centre <= box[1::2])).all(axis=1)
            corners, values = corners[inside], values[inside]
        sides = [np.ones(3)]
        if axis := picture.get("mirror"):
            sides.append(np.where(np.arange(3) == "xyz".index(axis), -1, 1))
        parts += [(corners * side, values, np.full(len(values), plane)) for side in sides]
    longest = max(corners.shape[1] for corners, *_ in parts)
    faces = np.concatenate(
        [np.pad(one, ((0, 0), (0, longest - one.shape[1]), (0, 0)), mode="edge") for one, *_ in parts]
    )
    values = np.concatenate([values for _, values, _ in parts])
    flat = np.concatenate([plane for *_, plane in parts])

    right, up, towards = axes(*picture["view"])
    order = np.argsort(faces.mean(axis=1) @ towards)
    low, high = picture.get("range", (values.min(), values.max()))
    scale = mpl.cm.ScalarMappable(mpl.colors.Normalize(low, high), "turbo")
    colours = scale.to_rgba(values)
    colours[:, :3] *= np.where(flat, 1.0, shade(faces, LIGHT @ [right, up, towards]))[:, None]
    seen = np.stack([faces @ right, faces @ up], axis=-1)[order]

    extent = np.ptp(seen.reshape(-1, 2), axis=0)
    height = min(max(WIDTH_INCHES * extent[1] / extent[0], 2.2), 6)
    width = min(height * extent[0] / extent[1] + BAR_INCHES, WIDTH_INCHES)
    figure, axes_ = plt.subplots(figsize=(width, height), layout="constrained")
    lines = colours.copy()
    if len(faces) <= MESH_LINES:
        lines[~flat] *= DARKER
    axes_.add_collection(
        PolyCollection(
            seen,
            facecolors=colours[order],
            edgecolors=lines[order],
            linewidths=0.4,
        )
    )
    axes_.autoscale_view()
    axes_.set_aspect("equal")
    axes_.axis("off")
    figure.colorbar(scale, ax=axes_, label=picture["label"], shrink=0.8, aspect=25)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=DOTS_PER_INCH)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(file, optimize=True)


def axes(azimuth: float, elevation: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Directions to the right, up and to the eye, for a view from azimuth and elevation in degrees."""
    a, e = np.radians([azimuth, elevation])
    towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return right, np.cross(towards, right), towards


def shade(faces: np.ndarray, light: np.ndarray) -> np.ndarray:
    """Brightness of faces between 0.55 and 1, the same for both sides of a face."""
    normals = np.cross(faces[:, 2] - faces[:, 0], faces[:, -1] - faces[:, 1])
    length = np.linalg.norm(normals, axis=1)
    lit = np.abs(normals @ light) / np.where(length > 0, length, 1)
    return 0.55 + 0.45 * lit


if __name__ == "__main__":
    main()
