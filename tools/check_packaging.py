# SPDX-License-Identifier: Apache-2.0
"""Checks packaging/ and .github/ without the registries and services that their files are for.

Dockerfiles pass hadolint, copy and make what is there, and ignore the same files. The conda recipe is one of
rattler-build's format, renders, and has the version and the dependencies of the project. Workflows and forms of issues
are as the schemas of GitHub ask, which check-jsonschema brings along.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from check_sources import ROOT

PACKAGING = ROOT / "packaging"
_VARIANTS = {
    "python": ["3.11.*"], "c_compiler": ["gcc"], "cxx_compiler": ["gxx"], "c_stdlib": ["sysroot"],
    "c_stdlib_version": ["2.28"],
}  # fmt: skip


def check_dockerfile(path: Path, targets: set[str]) -> Iterator[str]:
    hadolint = Path(sys.executable).with_name("hadolint")
    result = subprocess.run([hadolint, "--no-color", path], cwd=ROOT, capture_output=True, text=True, check=False)
    yield from (result.stdout + result.stderr).splitlines()
    text = path.read_text()
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for name in source.split():
            if not (ROOT / name).exists():
                yield f"{path}: COPY {name}: there is no such path"
    for target in re.findall(r"(?:RUN|&&) make ([\w-]+)", text):
        if target not in targets:
            yield f"{path}: make {target}: the Makefile has no such target"
    if "build/wheel/" not in text:
        yield f"{path}: installs no wheel of build/wheel"
    ignored = path.with_name(path.name + ".dockerignore")
    if not ignored.is_file():
        yield f"{path}: {ignored.name} is missing: the whole checkout, with its builds, would be sent to the builder"


def check_recipe(path: Path) -> Iterator[str]:
    import rattler_build

    try:
        recipe = rattler_build.Stage0Recipe.from_file(str(path))
        (rendered,) = recipe.render(rattler_build.VariantConfig(_VARIANTS))
        del rendered
    except (rattler_build.RattlerBuildError, ValueError) as error:
        yield f"{path}: {error}"
        return
    text = path.read_text()
    version = (ROOT / "VERSION").read_text().strip()
    if f'version: "{version}"' not in text:
        yield f"{path}: its version is not {version}, that of VERSION"
    project = (ROOT / "pyproject.toml").read_text()
    dependencies = re.search(r"^dependencies = \[(.*)\]$", project, re.MULTILINE)
    run = text.split("  run:\n")[1].split("\n\n")[0]
    for requirement in re.findall(r'"([^"]+)"', dependencies[1] if dependencies else ""):
        name, bound = re.fullmatch(r"([\w-]+)([^;]*).*", requirement).groups()  # type: ignore[union-attr]
        if not re.search(rf"[-:] {name} {re.escape(bound)}$".replace(" $", "$"), run, re.MULTILINE):
            yield f"{path}: run has no '{name} {bound}', which pyproject.toml requires"


def check_github() -> Iterator[str]:
    """The command line of check-jsonschema is its only public interface."""
    checked = {
        "github-workflows": "workflows/*.yml",
        "github-issue-forms": "ISSUE_TEMPLATE/[!c]*.yml",
        "github-issue-config": "ISSUE_TEMPLATE/config.yml",
    }
    for schema, pattern in checked.items():
        paths = sorted((ROOT / ".github").glob(pattern))
        program = Path(sys.executable).with_name("check-jsonschema")
        command = [program, "--builtin-schema", f"vendor.{schema}", "--color=never", *paths]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            yield from (result.stdout + result.stderr).splitlines()


def main() -> int:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    found = [line for path in sorted(PACKAGING.glob("docker/*.Dockerfile")) for line in check_dockerfile(path, targets)]
    found += check_recipe(PACKAGING / "conda/recipe.yaml")
    found += check_github()
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
