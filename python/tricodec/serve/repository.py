# SPDX-License-Identifier: Apache-2.0
"""The private folders of a server, so that installed files stay unchanged."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tricodec.serve.locate import Installation


def installed_repository() -> Path:
    """The model repository of the installed package."""
    return Path(__file__).resolve().parents[1] / "model_repository"


def lacking_models(source: Path) -> dict[str, str]:
    """The models of a repository that need DALI but cannot run on this machine, each with the reason and the remedy.

    A separate process imports tricodec.dali, which may compile its operators once.
    """
    folders = sorted({path.parents[1] for path in source.glob("*/*/dali.py")})
    models = [folder.name for folder in folders if _is_python(_read_config(folder), folder)]
    if not models:
        return {}
    result = subprocess.run([sys.executable, "-c", "import tricodec.dali"], capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return {}
    said = result.stderr.rpartition("Error: ")[2].partition("\n")[0]
    return dict.fromkeys(models, said or f"importing tricodec.dali ended with status {result.returncode}")


def lay_out_backends(installation: Installation, folder: Path) -> Path:
    """The backend directory for the server, with the Python stub of the running interpreter's version.

    Raises:
        RuntimeError: the installation has no stub for this Python.
    """
    stub = installation.python_stub()
    if installation.stubs is None:
        return installation.backends
    folder.mkdir()
    for backend in installation.backends.iterdir():
        if backend.name != "python":
            (folder / backend.name).symlink_to(backend)
    python = folder / "python"
    python.mkdir()
    for file in (installation.backends / "python").iterdir():
        if file.name != "__pycache__":
            (python / file.name).symlink_to(file)
    (python / stub.name).symlink_to(stub)
    return folder


def lay_out_models(
    source: Path,
    models: Sequence[str] | None,
    folder: Path,
    environment: Path,
    parameters: Mapping[str, Mapping[str, str]],
    left_out: Collection[str] = (),
) -> list[str]:
    """Copies models into `folder`, with EXECUTION_ENV_PATH and `parameters` added to their configurations.

    Args:
        source: a model repository.
        models: names of its models; None is all. An ensemble includes the models of its steps.
        folder: the repository to create.
        environment: EXECUTION_ENV_PATH of Python models, unless their configuration names one.
        parameters: for each model, values that replace parameters of its configuration.
        left_out: models that are not part of "all".

    Returns:
        The names of the models.

    Raises:
        FileNotFoundError: the repository or a model does not exist; the text lists the models.
        ValueError: `parameters` name a model that is not served.
    """
    if not source.is_dir():
        raise FileNotFoundError(f"no model repository at {source}")
    present = sorted(path.name for path in source.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))
    chosen = [name for name in present if name not in left_out] if models is None else _with_steps(source, models)
    missing = [name for name in chosen if name not in present]
    if missing or not chosen:
        wanted = f"no model {', '.join(map(repr, missing))}" if missing else "no model"
        raise FileNotFoundError(f"{wanted} in {source}; there are: {', '.join(present) or 'none'}")
    unknown = sorted(set(parameters) - set(chosen))
    if unknown:
        raise ValueError(f"parameters for {', '.join(unknown)}, which is not served; served: {', '.join(chosen)}")
    folder.mkdir()
    for name in chosen:
        _copy_model(source / name, folder / name, environment, parameters.get(name, {}))
    return chosen


def _with_steps(source: Path, models: Sequence[str]) -> list[str]:
    """`models`, followed by the steps of the ensembles among them."""
    chosen = list(dict.fromkeys(models))
    for name in chosen:  # grows in the loop: a step may be an ensemble too
        config = _read_config(source / name)
        if re.search(r'^\s*platform\s*:\s*"ensemble"', config, re.MULTILINE):
            steps = re.findall(r'\bmodel_name\s*:\s*"([^"]*)"', config)
            chosen += [step for step in dict.fromkeys(steps) if step not in chosen]
    return chosen


def _read_config(model: Path) -> str:
    path = model / "config.pbtxt"
    return path.read_text() if path.is_file() else ""


def _copy_model(source: Path, target: Path, environment: Path, parameters: Mapping[str, str]) -> None:
    config = _read_config(source)
    if not _is_python(config, source):
        # Weights may be large; no file is written beside them.
        target.mkdir()
        for entry in source.iterdir():
            if entry.name != "config.pbtxt":
                (target / entry.name).symlink_to(entry.resolve(), target_is_directory=entry.is_dir())
    else:
        # A copy, because Python writes __pycache__ beside model.py.
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        if "EXECUTION_ENV_PATH" not in config:
            parameters = {"EXECUTION_ENV_PATH": str(environment), **parameters}
    if config or parameters:
        (target / "config.pbtxt").write_text(_with_parameters(config, parameters))


def _is_python(config: str, source: Path) -> bool:
    backend = re.search(r'^\s*backend\s*:\s*"([^"]*)"', config, re.MULTILINE)
    return backend.group(1) == "python" if backend else any(source.glob("*/model.py"))


def _with_parameters(config: str, parameters: Mapping[str, str]) -> str:
    """A configuration with `parameters`; of several entries with one key, Triton uses the last one."""
    lines = [config.rstrip("\n")] if config else []
    for key, value in parameters.items():
        lines.append(f"parameters {{ key: {_quoted(key)} value {{ string_value: {_quoted(value)} }} }}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
