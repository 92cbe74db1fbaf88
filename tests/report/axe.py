"""axe-core, which checks the accessibility of pages: fetched once, then run without a network."""

import base64
import hashlib
import io
import tarfile
import urllib.request

import pytest

from workflows.paths import ROOT

VERSION = "4.14.1"
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
ADDRESS = f"https://registry.npmjs.org/axe-core/-/axe-core-{VERSION}.tgz"
KEPT = ROOT / f".cache/axe-core-{VERSION}.js"


def axe() -> str:
    """The program's text; skips the test where it is not kept and npm's registry cannot be reached."""
    if not KEPT.exists():
        try:
            with urllib.request.urlopen(ADDRESS, timeout=60) as answer:
                packed = answer.read()
        except OSError as error:
            pytest.skip(f"axe-core {VERSION} is not in {KEPT.parent.name}, and {ADDRESS} gives none: {error}")
        assert base64.b64encode(hashlib.sha512(packed).digest()).decode() == SHA512
        with tarfile.open(fileobj=io.BytesIO(packed)) as members:
            text = members.extractfile("package/axe.min.js").read()
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_bytes(text)
    return KEPT.read_text(encoding="utf-8")


def violations(reader) -> list[str]:
    """What axe finds wrong with the page that a reader has open, a line each."""
    reader.run(axe())
    faults = reader.driver.execute_async_script(
        "const done = arguments[0]; axe.run().then((told) => done(told.violations), (error) => done([error]));"
    )
    return [
        f"{fault['id']}: {fault['help']}: {node['html'][:160]}: {node['any'][0]['message'] if node['any'] else ''}"
        for fault in faults
        for node in fault["nodes"]
    ]
