# SPDX-License-Identifier: Apache-2.0
"""What is compiled into the wheel is what was pinned: archives are checked before anything of them is used."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import media
import pytest

sys.path.insert(0, str(media.REPOSITORY / "tools"))

import build_libraries
import library_sources
from library_sources import SOURCES, Source

CONTENT = b"an archive"


def source_at(*addresses: str, content: bytes = CONTENT) -> Source:
    """A source of `content` that is to be had at `addresses` alone."""

    class Elsewhere(Source):
        @property
        def addresses(self) -> list[str]:
            return list(addresses)

    return Elsewhere("some", "1.0", "s/some/some_1.0.tar", hashlib.sha256(content).hexdigest(), "make", (), "MIT")


def test_an_archive_comes_from_the_first_address_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(CONTENT)
    source = source_at((tmp_path / "absent").as_uri(), (tmp_path / "there").as_uri())

    archive = build_libraries.fetch(source, tmp_path / "archives")

    assert archive == tmp_path / "archives/some_1.0.tar"
    assert archive.read_bytes() == CONTENT
    assert list((tmp_path / "archives").iterdir()) == [archive]


def test_an_archive_with_other_bytes_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"something else")
    (tmp_path / "there").write_bytes(CONTENT)
    source = source_at((tmp_path / "other").as_uri(), (tmp_path / "there").as_uri())

    assert build_libraries.fetch(source, tmp_path).read_bytes() == CONTENT


def test_an_archive_that_is_nowhere_whole_is_refused_and_not_kept(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"something else")
    source = source_at((tmp_path / "other").as_uri())
    archives = tmp_path / "archives"

    with pytest.raises(build_libraries.BuildError, match=f"put {source.archive} into") as caught:
        build_libraries.fetch(source, archives)

    assert f"is {hashlib.sha256(b'something else').hexdigest()}, not {source.sha256}" in str(caught.value)
    assert list(archives.iterdir()) == []


def test_a_kept_archive_that_was_damaged_is_fetched_anew(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(CONTENT)
    source = source_at((tmp_path / "there").as_uri())
    (tmp_path / source.archive).write_bytes(CONTENT[:4])

    assert build_libraries.fetch(source, tmp_path).read_bytes() == CONTENT


def test_what_is_built_is_not_built_again_unless_its_recipe_changes(tmp_path: Path) -> None:
    tree = tmp_path / "some-1.0"
    tree.mkdir()
    (tree / "COPYING").write_text("terms")
    (tree / "Makefile").write_text("all:\ninstall:\n\tmkdir -p $(PREFIX) && echo built >>$(PREFIX)/count\n")
    archive = tmp_path / "some.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(tree, tree.name)
    source = source_at(archive.as_uri(), content=archive.read_bytes())
    source = dataclasses.replace(source, licenses=("COPYING",))
    prefix = tmp_path / "prefix"
    builder = build_libraries.Builder(prefix, tmp_path / "work", [], 1)

    for each in (source, source, dataclasses.replace(source, options=("another",))):
        builder.build(each, tmp_path / "archives")

    assert (prefix / "count").read_text() == "built\nbuilt\n"
    assert (prefix / "share/licenses/some/COPYING").read_text() == "terms"


def test_a_build_that_fails_shows_the_end_of_its_log(tmp_path: Path) -> None:
    tree = tmp_path / "some-1.0"
    tree.mkdir()
    (tree / "Makefile").write_text("all:\n\t@echo the cause && false\n")
    archive = tmp_path / "some.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(tree, tree.name)
    source = source_at(archive.as_uri(), content=archive.read_bytes())
    builder = build_libraries.Builder(tmp_path / "prefix", tmp_path / "work", [], 1)

    with pytest.raises(
        build_libraries.BuildError, match=r"(?s)'make' failed with status 2; .*some\.log ends:.*the cause"
    ):
        builder.build(source, tmp_path / "archives")

    assert not list(tmp_path.glob("prefix/share/tricodec/*"))


def test_ffmpeg_is_gpl_with_the_encoders_that_are_so_alone(tmp_path: Path) -> None:
    (ffmpeg,) = (source for source in SOURCES if source.name == "ffmpeg")

    def options(*encoders: str) -> list[str]:
        return build_libraries.Builder(tmp_path, tmp_path, list(encoders), 1).options(ffmpeg)

    assert "--enable-gpl" not in options()
    assert "--enable-gpl" not in options("libsvtav1", "libvpx", "libopus", "libmp3lame")
    assert "--enable-gpl" in options("libsvtav1", "libx264")
    assert "--enable-gpl" in options("libx265")
    assert "--enable-libx265" in options("libx265")


def test_an_unknown_encoder_is_refused_with_those_that_are_known() -> None:
    command = [sys.executable, media.REPOSITORY / "tools/build_libraries.py", "--encoders", "libx264,libx266"]

    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode == 2
    assert "names libx266; known are libx264, libx265" in result.stderr


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_every_source_is_pinned_and_passed_on_with_its_terms(source: Source) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", source.sha256)
    assert all(source.version in address for address in source.addresses)
    assert source.licenses or source.name == "nv-codec-headers"  # its headers each carry theirs
    assert hasattr(build_libraries.Builder, f"_{source.system}")


def test_cmake_looks_for_ffmpeg_by_the_name_that_it_is_built_under() -> None:
    text = (media.REPOSITORY / "cmake/libraries.cmake").read_text()

    assert f'set(TRICODEC_FFMPEG_SUFFIX "{library_sources.FFMPEG_SUFFIX}")' in text
