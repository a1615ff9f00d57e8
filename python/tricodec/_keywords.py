# SPDX-License-Identifier: Apache-2.0
"""Errors for arguments that a call does not take: they name the nearest keywords, or the types that are accepted."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from tricodec import _tricodec, _words
from tricodec.selection import SELECTION_WORDS

TRANSFORM_WORDS = (
    "crop", "size", "resize", "antialias", "chroma", "color", "matrix", "range", "unspecified", "rotate", "dtype",
    "layout", "scale", "mean", "std",
)  # fmt: skip
#: The words that calls take beside those of their signature.
_OTHER_WORDS: dict[str, tuple[str, ...]] = {
    "FrameReader.batch": (*SELECTION_WORDS, *TRANSFORM_WORDS),
    "FrameReader.batches": (*SELECTION_WORDS, *TRANSFORM_WORDS),
    "FrameReader.iterate": SELECTION_WORDS,
    "FrameReader.select": SELECTION_WORDS,
    "FrameReader.output_shape": TRANSFORM_WORDS,
}
#: What help() and IPython show of words that are chosen from a list; the stub has the types of all arguments.
_TYPES: dict[str, Any] = {
    "layout": _words.Layout, "color": _words.Color, "resize": _words.Resize, "chroma": _words.Chroma,
    "unspecified": _words.Unspecified,
    "matrix": _words.Matrix, "range": _words.Range, "dtype": _words.DTypeName, "policy": _words.Policy,
    "sampling": _words.Rule, "device": _words.Device,
}  # fmt: skip
#: The same in calls where a word has another meaning.
_TYPES_OF: dict[str, dict[str, Any]] = {
    "Encoder": {"codec": _words.EncoderName, "color": inspect.Parameter.empty},
    "Decoder": {"stream_or_codec": "StreamInfo | CodecName"},
}
_SELECTION_DEFAULTS = {"start": 0, "stride": 1, "count": -1}
_MOST_SUGGESTED = 3
#: Classes of which an unknown attribute gets the nearest one, or what other packages call by its name.
_WITH_HINTS = ("AudioReader", "FrameReader", "MediaInfo")
_Function = TypeVar("_Function", bound=Callable[..., Any])
#: By pybind11's name of a type: what it is called, and how it is made of a text.
_PLAIN: dict[str, tuple[str, Callable[[str], Any]]] = {
    "str": ("str", str),
    "typing.SupportsFloat | typing.SupportsIndex": ("number", float),
    "typing.SupportsInt | typing.SupportsIndex": ("whole number", int),
    "float": ("number", float),
    "int": ("whole number", int),
}
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


#: Names of other packages for what is here under another one, or under one of several.
_ELSEWHERE = {
    "VideoReader": "FrameReader",
    "VideoDecoder": "FrameReader",
    "VideoCapture": "FrameReader",
    "open": "FrameReader",
    "read_video": "decode_video",
    "load": "decode_video",
    "read": "iterate decode_video",
    "read_frame": "iterate",
    "decode": "iterate decode_video",
    "threads": "num_threads num_workers",
    "n_threads": "num_threads num_workers",
    "thread_count": "num_threads num_workers",
    "workers": "num_workers num_threads",
    "n_workers": "num_workers num_threads",
    "write_video": "encode_video",
    "VideoWriter": "Muxer",
    "info": "probe",
    "fps": "frame_rate",
    "framerate": "frame_rate fps",
    "frame_rate": "fps",
    "video_fps": "fps",
    "sample_fps": "fps",
    "target_fps": "fps",
    "average_fps": "fps",
    "get_avg_fps": "fps",
    "bitrate": "bit_rate",
    "quality": "crf",
    "width": "size",
    "height": "size",
    "resolution": "size",
    "interpolation": "resize",
    "normalize": "mean",
    "output_dtype": "dtype",
    "dimension_order": "layout",
    "data_format": "layout",
    "pix_fmt": "color info",
    "pixel_format": "color info",
    "frames": "indices",
    "frame_indices": "indices",
    "timestamps": "times pts_seconds",
    "seconds": "times",
    "tolerance": "tolerance_s",
    "step": "stride",
    "frame_interval": "stride",
    "start_seconds": "start_s",
    "start_time": "start_s",
    "video_start": "start_s",
    "stop": "end_s",
    "stop_seconds": "end_s",
    "end_time": "end_s",
    "video_end": "end_s",
    "nframes": "num_frames",
    "frame_count": "num_frames",
    "num_threads": "num_workers",
    "num_ffmpeg_threads": "num_workers",
    "ctx": "device",
    "rate": "sample_rate audio_rate fps",
    "sr": "sample_rate audio_rate",
    "sampling_rate": "sample_rate audio_rate",
    "sample_rate": "audio_rate",
    "mono": "num_channels audio_channels",
    "channels": "num_channels audio_channels",
    "num_channels": "audio_channels",
    "get_batch": "batch",
    "get_frame_at": "frames batch",
    "get_frames_at": "batch",
    "get_frames_in_range": "batch",
    "get_all_frames": "batch",
    "get_frames_played_at": "at_times",
    "get_frames_played_in_range": "batch",
    "get_all_samples": "read",
    "get_samples_played_in_range": "read",
    "get_key_indices": "key_frames",
    "get_frame_timestamp": "pts_seconds",
    "next": "iterate",
    "metadata": "info",
    "codec": "info",
    "rotation": "info",
    "duration": "duration_seconds",
    "duration_seconds": "duration",
}


def meant(name: str, accepted: Iterable[str]) -> str:
    """Text "; did you mean 'x'?" for a name that is none of the accepted ones, or nothing."""
    import difflib

    words = list(dict.fromkeys(accepted))
    close = difflib.get_close_matches(name, words, _MOST_SUGGESTED, 0.6)
    known = [name] if close else [name, *difflib.get_close_matches(name, _ELSEWHERE, 1, 0.6)]
    elsewhere = [word for other in known for word in _ELSEWHERE.get(other, "").split() if word in words]
    close = elsewhere[:1] or close
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def plain(word: str) -> str:
    """A word in small letters without separators: the same for all spellings that core takes for one word."""
    return re.sub("[-_. ]", "", word.lower())


def transform_of(call: str, options: dict[str, Any], others: Iterable[str]) -> _tricodec.Transform:
    """The Transform of the options that are left of a call, which takes `others` too.

    Raises:
        TypeError: an option is not one of `Transform`; the nearest one that the call takes is named.
    """
    for name in options:
        if name not in TRANSFORM_WORDS:
            raise unknown_keyword(call, name, [*others, *TRANSFORM_WORDS])
    return _tricodec.Transform(**options)


def install(public: dict[str, Any]) -> None:
    """Makes the functions of a module and the methods of its classes raise these errors, as far as they are native.

    Args:
        public: what the module has, by name. Functions are replaced in it.
    """
    for name, value in list(public.items()):
        if name.startswith("_"):
            continue
        if name in _WITH_HINTS:
            value.__getattr__ = _missing_attribute
        if inspect.isclass(value) and value.__module__.startswith("tricodec"):
            for method, native in list(vars(value).items()):
                if _has_arguments(native) and (method == "__init__" or not method.startswith("_")):
                    call = name if method == "__init__" else f"{name}.{method}"
                    setattr(value, method, _explained(native, call, _OTHER_WORDS.get(call, ())))
        elif inspect.isbuiltin(value) and _has_arguments(value):
            public[name] = _explained(value, name, ())
            public[name].__module__, public[name].__qualname__ = "tricodec", name  # where pickle finds it


def _missing_attribute(self: Any, name: str) -> Any:
    # Tools ask for names such as __array_interface__.
    hint = "" if name.startswith("_") else meant(name, [each for each in dir(type(self)) if not each.startswith("_")])
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)


def _has_arguments(native: Any) -> bool:
    """Whether this is a function or method of pybind11 with arguments and no overloads."""
    is_native = inspect.isbuiltin(native) or type(native).__name__ == "instancemethod"
    return is_native and bool(_parameters(native.__doc__ or ""))


def with_words(function: _Function) -> _Function:
    """A function with options of `Transform`, for help() and IPython with these options by their names."""
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    names = [each.name for each in parameters]
    parameters += _others([word for word in TRANSFORM_WORDS if word not in names])
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


def unknown_keyword(call: str, name: str, accepted: Iterable[str]) -> TypeError:
    """The error for a keyword that a call does not have."""
    words = list(dict.fromkeys(accepted))
    remedy = meant(name, words) or f"; accepted: {', '.join(words)}"
    return TypeError(f"{call}() got an unexpected keyword argument {name!r}{remedy}")


def explains_keywords(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """A decorator: an unknown keyword of a function gets the nearest one that it has."""

    @functools.wraps(function)
    def explained(*arguments: _Arguments.args, **keywords: _Arguments.kwargs) -> _Result:
        try:
            return function(*arguments, **keywords)
        except TypeError as error:
            names = inspect.signature(function).parameters
            wrong = next((name for name in keywords if name not in names), None)
            if wrong is None or "unexpected keyword" not in str(error):
                raise
            raise unknown_keyword(function.__name__, wrong, names) from None

    return explained


def _explained(native: Callable[..., Any], call: str, others: tuple[str, ...]) -> Callable[..., Any]:
    is_method = not inspect.isbuiltin(native)

    @functools.wraps(native, assigned=("__doc__", "__name__", "__qualname__"), updated=())
    def method(*arguments: Any, **keywords: Any) -> Any:
        try:
            return native(*arguments, **keywords)
        except TypeError as error:
            # An object without its native part must not be shown: pybind11 would read memory that was never written.
            arguments = arguments[is_method:]
            better = _better_error(error, native, call, others, arguments, keywords)
            if better is None:
                raise
            raise better from None
        except BaseException:
            del arguments
            raise

    method.__signature__ = _signature(native.__doc__ or "", call, others, is_method)  # type: ignore[attr-defined]  # help() and IPython show it
    del method.__wrapped__
    return method


def _signature(doc: str, call: str, others: Iterable[str], is_method: bool) -> inspect.Signature:
    """The signature in the first line of a docstring of pybind11, and the words that the call takes as options."""
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)] if is_method else []
    pairs = _parameters(doc)
    most = _num_positional(doc, len(pairs))
    for number, (name, annotation) in enumerate(pairs):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if number < most else inspect.Parameter.KEYWORD_ONLY
        kind_of, has_default, default = annotation.partition(" = ")
        shown = inspect.Parameter.empty if kind_of == "object" else kind_of
        parameters.append(
            inspect.Parameter(
                name,
                kind,
                default=ast.literal_eval(default) if has_default else inspect.Parameter.empty,
                annotation=_TYPES_OF.get(call, {}).get(name, _TYPES.get(name, shown)),
            )
        )
    names = [name for name, _ in pairs]
    return inspect.Signature(parameters + _others([word for word in others if word not in names]))


def _others(words: Iterable[str]) -> list[inspect.Parameter]:
    """Words of a selection and of `Transform` as parameters."""
    transform = dict(_parameters(_transform_doc()))
    return [
        inspect.Parameter(
            word,
            inspect.Parameter.KEYWORD_ONLY,
            default=ast.literal_eval(transform[word].partition(" = ")[2])
            if word in transform
            else _SELECTION_DEFAULTS.get(word),
            annotation=_TYPES.get(word, inspect.Parameter.empty),
        )
        for word in words
    ]


@functools.cache
def _transform_doc() -> str:
    return _tricodec.Transform.__init__.__doc__ or ""


def _better_error(
    error: TypeError, native: Any, call: str, others: tuple[str, ...], arguments: tuple[Any, ...], keywords: Any
) -> TypeError | None:
    """An error in place of pybind11's list of overloads, or None for another error."""
    text = str(error)
    if "incompatible" not in text and "unexpected keyword" not in text:
        return None
    parameters = _parameters(native.__doc__ or "")
    names = [name for name, _ in parameters]
    for name in keywords:
        if name not in names and name not in others:
            return unknown_keyword(call, name, [*names, *others])
    if "incompatible" not in text:
        return None
    most = _num_positional(native.__doc__ or "", len(names))
    if len(arguments) > most:
        return TypeError(
            f"{call}() takes {most} arguments without a keyword at most, and {len(arguments)} were given; give the "
            f"others by their names: {', '.join(names[most:])}"
        )
    positional = dict(zip(names, arguments, strict=False))
    given = {**positional, **keywords}
    for name, annotation in parameters:
        kind, _, default = annotation.partition(" = ")
        if name not in given or kind not in _PLAIN or _fits(given[name], kind):
            continue
        what, make = _PLAIN[kind]
        like = f", such as {default}" if default else ""
        value = given[name]
        remedy = ""
        if isinstance(value, str):
            with contextlib.suppress(ValueError):
                remedy = f"; write {make(value)!r}"
        return TypeError(f"{call}(): {name} is a {what}{like}, not {_short(value)} ({type(value).__name__}){remedy}")
    for name, annotation in parameters:
        if name not in given and "=" not in annotation:
            return TypeError(f"{call}() is missing the argument {name!r}")
    shown = ", ".join(f"{name}={_short(value)}" for name, value in given.items() if name in names)
    expected = ", ".join(f"{name}: {annotation}" for name, annotation in parameters if name in given)
    return TypeError(f"{call}() got an argument of a wrong type: {shown}; expected {expected}")


def _fits(value: Any, kind: str) -> bool:
    if kind == "str":
        return isinstance(value, str)
    return hasattr(value, "__index__") or (hasattr(value, "__float__") and _PLAIN[kind][1] is float)


def _parameters(doc: str) -> list[tuple[str, str]]:
    """(name, annotation and default) of the parameters in the first line of a docstring of pybind11."""
    match = re.match(r"\w+\((.*)\) -> ", doc)
    if match is None:
        return []
    parts = re.split(r", (?=\w+: |\*)", match[1])
    pairs = [part.partition(": ") for part in parts if ": " in part and not part.startswith("*")]
    return [(name, annotation) for name, _, annotation in pairs if name != "self"]


def _num_positional(doc: str, num_parameters: int) -> int:
    head = doc.partition("\n")[0].partition(" *,")[0]
    return len(re.findall(r"[(,] ?(?!self)\w+: ", head)) if " *," in doc.partition("\n")[0] else num_parameters


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"<{type(value).__name__}>"
