# SPDX-License-Identifier: Apache-2.0
"""The private folders of a server, so that installed files stay unchanged."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tricodec.triton.serve.locate import Installation

EVERY_MODEL = "*"
"""In place of a model's name: all models that have the parameter."""

_ON_CPU = "{ kind: KIND_CPU count: 1 }"
_PARAMETER = re.compile(r'^parameters \{ key: "([^"]*)" value \{ string_value: "([^"]*)" \} \}', re.MULTILINE)


def installed_repository() -> Path:
    """The model repository of the installed package."""
    return Path(__file__).resolve().parents[2] / "model_repository"


def lacking_models(source: Path) -> dict[str, str]:
    """The models and ensembles of a repository that lack DALI or other packages here, each with reason and remedy."""
    lacking = _lacking_dali(source) | _lacking_packages(source)
    for config in sorted(source.glob("*/config.pbtxt")):
        model = config.parent.name
        step = next((step for step in _with_steps(source, [model]) if step in lacking), None)
        if step is not None:
            lacking.setdefault(model, lacking[step])
    return lacking


def _lacking_packages(source: Path) -> dict[str, str]:
    """The models that name packages in their parameter REQUIRED_PACKAGES, and lack one of them."""
    lacking = {}
    for config in sorted(source.glob("*/config.pbtxt")):
        named = parameters_in(config.read_text()).get("REQUIRED_PACKAGES", "").split()
        if missing := ", ".join(package for package in named if importlib.util.find_spec(package) is None):
            remedy = "pip install onnxruntime rapidocr-onnxruntime"
            lacking[config.parent.name] = f"the packages {missing} are not installed; {remedy}"
    return lacking


def _lacking_dali(source: Path) -> dict[str, str]:
    """The models that need DALI, where importing tricodec.dali fails, which may compile its operators once."""
    folders = sorted({path.parents[1] for path in source.glob("*/*/dali.py")})
    models = [folder.name for folder in folders if _is_python(read_config(folder), folder)]
    if not models:
        return {}
    result = subprocess.run([sys.executable, "-c", "import tricodec.dali"], capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return {}
    said = result.stderr.rpartition("Error: ")[2].partition("\n")[0]
    return dict.fromkeys(models, said or f"importing tricodec.dali ended with status {result.returncode}")


def lay_out_backends(installation: Installation, folder: Path) -> Path:
    """The backend directory for the server, with the Python stub of the running interpreter's version."""
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
    environment: Path | None,
    parameters: Mapping[str, Mapping[str, str]],
    left_out: Collection[str] = (),
    *,
    link: bool = True,
    gpus: Sequence[int] = (),
) -> list[str]:
    """Copies models of a repository into `folder`, which may be empty, and returns their names.

    Args:
        models: their names, with which the steps of ensembles come; None is all but `left_out`.
        environment: EXECUTION_ENV_PATH of Python models, unless their configuration names one; None adds none.
        parameters: for each model, or EVERY_MODEL, values that replace parameters of its configuration.
        link: link to files that no server writes beside, such as weights; False copies them.
        gpus: numbers of GPUs: models with a `device` other than "cpu" get an instance on each, not on the CPU.
    """
    chosen = _choose(source, models, left_out)
    of_each = _parameters_of_each(source, chosen, parameters)
    if folder.is_dir() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} exists already; name a folder that does not, or an empty one")
    folder.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        config = _served_config(source / name, environment, of_each[name], gpus)
        _copy_model(source / name, folder / name, config, link=link)
    return chosen


def _choose(source: Path, models: Sequence[str] | None, left_out: Collection[str]) -> list[str]:
    if not source.is_dir():
        raise FileNotFoundError(f"no model repository at {source}")
    present = sorted(path.name for path in source.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))
    chosen = [name for name in present if name not in left_out] if models is None else _with_steps(source, models)
    missing = [name for name in chosen if name not in present]
    if missing or not chosen:
        wanted = f"no model {', '.join(map(repr, missing))}" if missing else "no model"
        raise FileNotFoundError(f"{wanted} in {source}; there are: {', '.join(present) or 'none'}")
    return chosen


def parameter_texts(parameters: Any) -> dict[str, dict[str, str]]:
    """Parameters by model, with their values as Triton has them."""
    texts: dict[str, dict[str, str]] = {}
    for model, values in _items("parameters", parameters):
        texts[model] = {}
        for key, value in _items(f"parameters of {model!r}", values):
            if not isinstance(value, (str, int, float)):
                raise TypeError(f"parameter {key} of {model} is {value!r}; expected a text, a number, True or False")
            texts[model][key] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def _items(name: str, mapping: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(mapping, Mapping):
        example = 'such as {"video_decode": {"max_queue": 2}}'
        raise TypeError(f"{name}: expected values by model and parameter, {example}, got {mapping!r}")
    return mapping.items()


def _parameters_of_each(
    source: Path, chosen: Sequence[str], parameters: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Parameters by model, with those of EVERY_MODEL at each model that has them; its own values go first."""
    unknown = sorted(set(parameters) - set(chosen) - {EVERY_MODEL})
    if unknown:
        raise ValueError(f"parameters for {', '.join(unknown)}, which is not served; served: {', '.join(chosen)}")
    common = parameters.get(EVERY_MODEL, {})
    defaults = {name: parameters_in(read_config(source / name)) for name in chosen}
    for key in common:
        if not any(key in names for names in defaults.values()):
            raise ValueError(f"none of the models that are served has a parameter {key!r}: {', '.join(chosen)}")
    found = {}
    for name in chosen:
        of_all = {key: value for key, value in common.items() if key in defaults[name]}
        found[name] = {**of_all, **parameters.get(name, {})}
        _check_parameters(name, defaults[name], found[name])
    return found


def _check_parameters(model: str, defaults: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Raises ValueError for what one of tricodec's models would refuse after some seconds of loading."""
    if "timeout_ms" not in defaults:
        return  # another model, which may have parameters that its configuration does not list
    for name, value in values.items():
        if name.isupper():
            continue  # Triton's own
        if name not in defaults:
            raise ValueError(f"{model} has no parameter {name!r}; accepted: {', '.join(defaults)}")
        if defaults[name].isdigit() and not value.isdigit():
            raise ValueError(f"parameter {name} of {model} is {value!r}; expected an integer such as {defaults[name]}")


def _with_steps(source: Path, models: Sequence[str]) -> list[str]:
    """`models`, followed by the steps of the ensembles among them."""
    chosen = list(dict.fromkeys(models))
    for name in chosen:  # grows in the loop: a step may be an ensemble too
        config = read_config(source / name)
        if re.search(r'^\s*platform\s*:\s*"ensemble"', config, re.MULTILINE):
            steps = re.findall(r'\bmodel_name\s*:\s*"([^"]*)"', config)
            chosen += [step for step in dict.fromkeys(steps) if step not in chosen]
    return chosen


def read_config(model: Path) -> str:
    """The configuration of a model by its folder; empty if it has none."""
    path = model / "config.pbtxt"
    return path.read_text() if path.is_file() else ""


def parameters_in(config: str) -> dict[str, str]:
    """The parameters of a configuration, of which Triton uses the last one of a key."""
    return dict(_PARAMETER.findall(config))


def _copy_model(source: Path, target: Path, config: str, *, link: bool) -> None:
    if link and not _is_python(read_config(source), source):
        # Weights may be large; no file is written beside them.
        target.mkdir()
        for entry in source.iterdir():
            if entry.name != "config.pbtxt":
                (target / entry.name).symlink_to(entry.resolve(), target_is_directory=entry.is_dir())
    else:
        # A copy, because Python writes __pycache__ beside model.py.
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    if config:
        (target / "config.pbtxt").write_text(config)


def _served_config(source: Path, environment: Path | None, parameters: Mapping[str, str], gpus: Sequence[int]) -> str:
    """The configuration of a model with `parameters`, and with the environment if the model is a Python one."""
    config = read_config(source)
    if gpus and parameters_in(config).get("device", "cpu") != "cpu":
        config = config.replace(_ON_CPU, f"{{ kind: KIND_GPU count: 1 gpus: [ {', '.join(map(str, gpus))} ] }}")
    if environment is not None and _is_python(config, source) and "EXECUTION_ENV_PATH" not in config:
        parameters = {"EXECUTION_ENV_PATH": str(environment), **parameters}
    return _with_parameters(config, parameters) if config or parameters else ""


def _is_python(config: str, source: Path) -> bool:
    backend = re.search(r'^\s*backend\s*:\s*"([^"]*)"', config, re.MULTILINE)
    return backend.group(1) == "python" if backend else any(source.glob("*/model.py"))


def _with_parameters(config: str, parameters: Mapping[str, str]) -> str:
    """A configuration with `parameters`; of several entries with one key, Triton uses the last one."""
    lines = [config.rstrip("\n")] if config else []
    for each in parameters.items():
        key, value = (json.dumps(text, ensure_ascii=False) for text in each)
        lines.append(f"parameters {{ key: {key} value {{ string_value: {value} }} }}")
    return "\n".join(lines) + "\n"
