# SPDX-License-Identifier: Apache-2.0
"""The list of the wheel's parts: valid CycloneDX that names every library with its terms and its archive."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import media
import pytest

pytest.importorskip("cyclonedx", reason="cyclonedx-python-lib is not installed (make wheel installs it)")
sys.path.insert(0, str(media.REPOSITORY / "tools"))

from library_sources import ENCODERS, SOURCES
from wheel_sbom import SystemLibrary, problems, sbom, write_sbom

ADDED = [SystemLibrary("libx264-164", "2:0.164.3095+gitbaee400-3", "libx264-1a2b3c4d.so.164")]


def test_every_library_is_listed_with_terms_and_archive(tmp_path: Path) -> None:
    path = write_sbom(tmp_path, sbom("0.1.0", list(SOURCES), list(ENCODERS), ADDED))

    document = json.loads(path.read_text())
    found = {each["name"]: each for each in document["components"]}
    assert path == tmp_path / "sboms/tricodec.cdx.json"
    assert set(found) == {source.name for source in SOURCES} | {"libx264-164"}
    for source in SOURCES:
        (archive,) = found[source.name]["externalReferences"]
        assert archive["hashes"] == [{"alg": "SHA-256", "content": source.sha256}]
        assert found[source.name]["licenses"]
    assert found["libx264-164"]["purl"].startswith("pkg:deb/debian/libx264-164@")
    (top,) = (each for each in document["dependencies"] if each["ref"] == "tricodec")
    assert len(top["dependsOn"]) == len(SOURCES) + 1


@pytest.mark.parametrize(("encoders", "terms"), [(["libx264"], "GPL-2.0-or-later"), (["libvpx"], "LGPL-2.1-or-later")])
def test_terms_of_ffmpeg_follow_its_encoders(encoders: list[str], terms: str) -> None:
    document = json.loads(sbom("0.1.0", list(SOURCES), encoders, []))

    (ffmpeg,) = (each for each in document["components"] if each["name"] == "ffmpeg")
    assert ffmpeg["licenses"] == [{"expression": terms}]


def test_a_document_against_the_schema_is_not_written(tmp_path: Path) -> None:
    wrong = json.dumps({**json.loads(sbom("0.1.0", [], [], [])), "components": [{"name": "no type"}]})

    assert problems(wrong)
    with pytest.raises(ValueError, match="no valid CycloneDX"):
        write_sbom(tmp_path, wrong)
    assert not list(tmp_path.rglob("*.json"))
