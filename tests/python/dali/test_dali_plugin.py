# SPDX-License-Identifier: Apache-2.0
"""How `import tricodec.dali` finds, compiles, keeps and loads the plugin."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tricodec
from media import CACHE, generated
from programs import printed_by

pytestmark = pytest.mark.needs_dali

NO_COMPILER = {"PATH": "/nonexistent", "CXX": ""}

IMPORT_AND_PRINT_ERROR = """
try:
    import tricodec.dali
except ImportError as error:
    print(type(error).__name__, error)
"""


def decode_one_frame() -> str:
    """A program's lines that run the operator."""
    return f"""
import numpy as np
from nvidia.dali import Pipeline, fn
data = np.fromfile({str(generated("h264_bframes.mp4"))!r}, np.uint8)
pipe = Pipeline(batch_size=1, num_threads=2, device_id=None)
with pipe:
    encoded = fn.external_source(source=lambda: [data], batch=True)
    pipe.set_outputs(*fn.tricodec.decode_video(encoded, count=1))
pipe.build()
assert pipe.run()[0].at(0).shape == (1, 180, 320, 3)
print("decoded")
"""


def environment(site: Path, cache: Path, **more: str) -> dict[str, str]:
    return {"PYTHONPATH": str(site), "XDG_CACHE_HOME": str(cache), **more}


def copy_package(site: Path, into: Path) -> Path:
    shutil.copytree(site / "tricodec", into / "tricodec", symlinks=True)
    return into


@pytest.fixture(scope="module")
def bare_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed package without its prebuilt plugin: what a wheel that was built without DALI installs.

    It compiles without optimization, in two thirds of the time.
    """
    site = copy_package(Path(tricodec.__file__).parents[1], tmp_path_factory.mktemp("site"))
    shutil.rmtree(site / "tricodec" / "dali" / "lib", ignore_errors=True)
    build = site / "tricodec" / "dali" / "_plugin.py"
    assert '"-O2"' in build.read_text()
    build.write_text(build.read_text().replace('"-O2"', '"-O0"'))
    return site


@pytest.fixture(scope="module")
def compiler(bare_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C++ compiler, which makes the same library only once: it keeps its output by arguments, input and sources.

    A later run with the same sources, compiler and DALI finds it among the test media.
    """
    import nvidia.dali

    folder, real = tmp_path_factory.mktemp("compiler"), shutil.which("g++")
    version = subprocess.run([str(real), "--version"], capture_output=True, check=True).stdout
    digest = hashlib.sha256(version + nvidia.dali.__version__.encode())
    for source in sorted([*bare_site.rglob("dali/plugin/**/*.[ch]*"), *bare_site.rglob("include/**/*.h")]):
        digest.update(source.read_bytes())
    libraries = CACHE / "dali" / digest.hexdigest()[:16]
    libraries.mkdir(parents=True, exist_ok=True)
    path = folder / "g++"
    path.write_text(f"""#!/bin/bash
[ "$1" = --version ] && exec {real} --version
output="${{@: -1}}"
unit=$(cat)
kept="{libraries}/$(sed 's#{bare_site}##g' <<<"${{*:1:$#-1}} $unit" | sha256sum | cut -c1-16)"
if [ ! -e "$kept" ]; then
  {real} "$@" <<<"$unit" || exit
  cp "$output" "$kept.$$" && mv "$kept.$$" "$kept"
fi
echo "$(basename "$output")" >>"{folder}/calls"
cp "$kept" "$output"
""")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def filled_cache(bare_site: Path, compiler: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache into which two processes have compiled the plugin that both found missing."""
    cache = tmp_path_factory.mktemp("cache")
    variables = environment(bare_site, cache, CXX=str(compiler))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: printed_by("import tricodec.dali", **variables), range(2)))
    return cache


def library_in(cache: Path) -> Path:
    (library,) = cache.glob("tricodec/dali/*/*/libtricodec_dali.so")
    return library


def test_plugin_is_compiled_once_for_a_package_without_one(bare_site: Path, filled_cache: Path, compiler: Path) -> None:
    library = library_in(filled_cache)
    variables = environment(bare_site, filled_cache, CXX=str(compiler))

    output = printed_by(f"import tricodec.dali\n{decode_one_frame()}", **variables)

    assert "decoded" in output
    made = (compiler.parent / "calls").read_text().split()
    assert sorted(made) == ["libtricodec_dali.so", "libtricodec_dali_preload.so"]
    names = ["libtricodec_dali.json", "libtricodec_dali.so", "libtricodec_dali_preload.so", "lock"]
    assert sorted(path.name for path in library.parent.iterdir()) == names


def test_plugin_of_the_cache_is_used_where_there_is_no_compiler(bare_site: Path, filled_cache: Path) -> None:
    variables = environment(bare_site, filled_cache, **NO_COMPILER)

    output = printed_by(f"import tricodec.dali\n{decode_one_frame()}", **variables)

    assert "decoded" in output


def test_import_says_that_a_compiler_is_missing(bare_site: Path, tmp_path: Path) -> None:
    output = printed_by(IMPORT_AND_PRINT_ERROR, **environment(bare_site, tmp_path, **NO_COMPILER))

    assert re.match(r"PluginError .*no C\+\+ compiler is found.*apt-get install g\+\+", output)


@pytest.fixture
def prebuilt_site(bare_site: Path, filled_cache: Path, tmp_path: Path) -> Path:
    """A package with a plugin that was compiled when it was built."""
    site = copy_package(bare_site, tmp_path / "prebuilt")
    folder = site / "tricodec/dali/lib"
    folder.mkdir()
    for file in library_in(filled_cache).parent.glob("libtricodec*"):
        shutil.copy(file, folder)
    return site


def test_prebuilt_plugin_is_used_for_its_dali(prebuilt_site: Path, tmp_path: Path) -> None:
    code = f"import tricodec.dali\n{decode_one_frame()}\nprint(tricodec.dali.plugin_path())"

    output = printed_by(code, **environment(prebuilt_site, tmp_path / "unused", **NO_COMPILER))

    assert str(prebuilt_site / "tricodec/dali/lib/libtricodec_dali_preload.so") in output
    assert not (tmp_path / "unused").exists()


def test_prebuilt_plugin_for_another_dali_is_not_used_and_named(prebuilt_site: Path, tmp_path: Path) -> None:
    import nvidia.dali

    metadata = prebuilt_site / "tricodec/dali/lib/libtricodec_dali.json"
    metadata.write_text(json.dumps(json.loads(metadata.read_text()) | {"dali_version": "1.2.3"}))

    output = printed_by(IMPORT_AND_PRINT_ERROR, **environment(prebuilt_site, tmp_path / "cache", **NO_COMPILER))

    installed = re.escape(nvidia.dali.__version__)
    assert re.match(rf"PluginError .*installed DALI {installed}.*no C\+\+ compiler.*is for DALI 1\.2\.3", output)


def test_operators_are_registered_once_when_another_copy_was_loaded_before(tmp_path: Path) -> None:
    import tricodec.dali

    for file in tricodec.dali.plugin_path().parent.glob("*.so"):
        shutil.copy(file, tmp_path)
    copy = tmp_path / tricodec.dali.plugin_path().name
    core = str(Path(tricodec.installation.library_path()).parent)
    load = f"from nvidia.dali import fn, plugin_manager; plugin_manager.load_library({str(copy)!r})"
    code = f"{load}\nimport tricodec.dali\n{decode_one_frame()}"

    assert "decoded" in printed_by(code, LD_LIBRARY_PATH=core)


def test_operators_are_registered_once_when_dali_preloads_the_plugin() -> None:
    import tricodec.dali

    code = f"import nvidia.dali.fn\nimport tricodec.dali\n{decode_one_frame()}"

    assert "decoded" in printed_by(code, DALI_PRELOAD_PLUGINS=str(tricodec.dali.plugin_path()))


def test_dynamic_mode_that_was_imported_before_has_the_operators() -> None:
    code = f"""
import nvidia.dali.experimental.dynamic as ndd
import tricodec.dali
import numpy as np
data = np.fromfile({str(generated("h264_bframes.mp4"))!r}, np.uint8)
frames, pts = ndd.tricodec.decode_video(data, count=2)
assert np.array(frames.cpu()).shape == (2, 180, 320, 3)
assert "presentation" in ndd.tricodec.decode_video.__doc__
assert not hasattr(ndd.tricodec, "read_video")
import importlib
importlib.reload(tricodec.dali)
print("decoded")
"""

    assert "decoded" in printed_by(code)
