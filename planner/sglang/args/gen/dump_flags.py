#!/usr/bin/env python3
"""Dump the launch flags of an installed SGLang as JSON, for `go run ./gen -merge`.

    python3 -m venv v && v/bin/pip install --no-deps sglang==0.5.24 msgspec
    v/bin/python dump_flags.py > 0.5.24.json

or, from an unpacked wheel, `python3 dump_flags.py --path FOLDER`. The release's
own argparse parser is read, nothing is started and no GPU is touched. Packages
that are not installed (torch, transformers, ...) are replaced by stand-ins:
none of them gives a flag its name, type, choices or default. From 0.5.20 the
arguments are msgspec records, so msgspec must be real; 0.5.5 to 0.5.22 also
want pydantic, fastapi, dill, email-validator and python-multipart.
"""
import argparse
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import inspect
import json
import pathlib
import sys
import types


# Asked for to learn that SGLang runs on another platform than CUDA.
PLATFORMS = {"npu", "musa", "mlu", "hpu"}


class Base:
    def __init_subclass__(cls, **_):
        pass


class StandIn(str):
    """An object that takes part in anything an import does with a name. It is
    a text because some names are used as one."""

    def __new__(cls, name):
        made = super().__new__(cls, name)
        made.__name__ = made.__qualname__ = name
        return made

    def __getattr__(self, name):
        return stand_in(self, name)

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and isinstance(args[0], (type, types.FunctionType)):
            return args[0]  # used as a decorator
        return self

    def __mro_entries__(self, bases):
        return () if Base in bases else (Base,)  # used as a base class

    def __getitem__(self, _):
        return self

    def __setitem__(self, key, value):
        pass

    def __or__(self, _):
        return self

    __ror__ = __or__

    def __iter__(self):
        return iter(())

    def __bool__(self):
        return False

    def __int__(self):
        return 0

    def __lt__(self, _):
        return False

    __gt__ = __le__ = __ge__ = __contains__ = __instancecheck__ = __subclasscheck__ = __lt__

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class StandInModule(types.ModuleType):
    __path__ = []
    __version__ = "9.9.9"

    def __getattr__(self, name):
        return stand_in(self, name)


def stand_in(owner, name):
    if name == "__version__":
        return "9.9.9"
    if name in PLATFORMS or name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    made = StandIn(name)
    setattr(owner, name, made)
    return made


# Never stood in for: SGLang's own modules, and packages whose presence tells it
# that it runs on another platform than CUDA.
ABSENT = {"sglang", "msgspec", "torch_npu", "torch_musa", "torch_xla", "torch_mlu", "habana_frameworks", "mlx",
          "intel_extension_for_pytorch"}


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last on sys.meta_path: takes what nobody else finds, SGLang excepted."""

    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top in ABSENT or top in sys.stdlib_module_names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return StandInModule(spec.name)

    def exec_module(self, module):
        pass


# How a type function is called in the table. The lists are what SGLang has had;
# a new function stops the dump, so that it is not taken for plain text.
PARSERS = {
    "human_readable_int": "human_int",
    "nullable_str": "nullable",
    "loads": "json",
    "json_list_type": "json_list",
    "parse_cuda_graph_config_arg": "cuda_graph_config",
}
PLAIN = {"str": "string", "int": "int", "float": "float", "parse_cuda_graph_backend_arg": "string"}


def plain(value):
    """A default as JSON."""
    if isinstance(value, StandIn):
        raise SystemExit(f"a default comes from a package that is not installed: {value}")
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, tuple):
        return list(value)
    if value is None or isinstance(value, (bool, int, float, str, list, dict)):
        return value
    if hasattr(value, "value"):  # an enum member
        return plain(value.value)
    raise SystemExit(f"a default of type {type(value).__name__}: {value!r}")


def shape(action):
    """What the table says about one flag, beyond its spellings."""
    kind = type(action).__name__
    out = {"default": plain(None if action.default is argparse.SUPPRESS else action.default)}
    if isinstance(action, argparse._HelpAction):
        return {"kind": "help", "default": None}
    deprecated = "Deprecated" in kind
    if deprecated:
        out["deprecated"] = True
        out.update(retired(action, kind))
    elif (action.help or "").lower().startswith(("deprecated", "[deprecated]", "(deprecated")):
        out.update(deprecated=True, use="works", action="plain")
    if action.required:
        out["required"] = True
    if action.nargs == 0:
        out["kind"] = "bool"
        neg = [o for o in action.option_strings if o.startswith("--no-")]
        if isinstance(action, argparse.BooleanOptionalAction) and neg:
            out["neg"] = neg
        if deprecated and getattr(action, "const_value", None) not in (None, True):
            out["const"] = action.const_value
        return out
    out.update(valued(action, kind))
    if deprecated and getattr(action, "const_value", None) is not None:
        out["const"] = action.const_value
    elif action.const is not None:
        out["const"] = action.const
    return out


def retired(action, kind):
    out = {}
    if getattr(action, "new_flag", None):
        out["replacement"] = action.new_flag
    # To 0.5.7 the action of a retired flag raises; later ones carry a message.
    raises = kind == "DeprecatedAction" and "raise " in inspect.getsource(type(action).__call__)
    if raises or getattr(action, "error_message", None) is not None:
        out["use"] = "error"
    else:
        out["use"] = "ignored" if kind == "DeprecatedAction" else "works"
    return out


def valued(action, kind):
    out = {}
    name = getattr(action.type, "__name__", "str") if action.type else "str"
    if kind == "LoRAPathAction":
        return {"kind": "list", "elem": "string", "nargs": action.nargs, "parser": "lora_path"}
    if name in PARSERS:
        out["parser"] = PARSERS[name]
        out["kind"] = {"human_int": "int", "nullable": "string"}.get(out["parser"], "json")
    elif name in PLAIN:
        out["kind"] = PLAIN[name]
    elif isinstance(action.type, StandIn) and name == "loads":
        out.update(kind="json", parser="json")
    else:
        raise SystemExit(f"{action.option_strings[0]}: type function {name} is new; teach package args to read it")
    if action.nargs in ("*", "+"):
        out["elem"], out["kind"] = out["kind"], "list"
    if action.nargs is not None:
        out["nargs"] = action.nargs
    if action.choices is not None:
        choices = [c.value if hasattr(c, "value") else c for c in action.choices]
        out["choices"] = sorted(choices) if isinstance(action.choices, (set, frozenset)) else choices
        if out["kind"] != "list":
            out["elem"], out["kind"] = out["kind"], "choice"
    return out


def dump(parser):
    flags, first = [], {}
    for action in parser._actions:
        if not action.option_strings:
            continue
        entry = shape(action)
        neg = entry.get("neg", [])
        names = [o for o in action.option_strings if o not in neg]
        name = next(o for o in names if o.startswith("--"))
        entry.update(name=name, dest=action.dest, aliases=[o for o in names if o != name])
        # argparse takes the default of the first flag of a shared dest, SGLang
        # relies on the field's; the deprecated spelling never decides.
        if action.dest in first:
            late = entry if entry.get("deprecated") else first[action.dest]
            late["nodefault"] = True
        first.setdefault(action.dest, entry)
        flags.append(entry)
    return flags


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--path", type=pathlib.Path, help="folder of an unpacked wheel, default: the installed package")
    args.add_argument("--version", help="release, default: as the package says")
    opts = args.parse_args()
    if opts.path:
        sys.path.insert(0, str(opts.path))
    version = opts.version or importlib.metadata.version("sglang")
    # The package itself without running its __init__, which patches
    # transformers and does nothing for the arguments.
    package = types.ModuleType("sglang")
    package.__path__ = importlib.machinery.PathFinder.find_spec("sglang").submodule_search_locations
    package.__version__ = version
    sys.modules["sglang"] = package
    sys.meta_path.append(StandInFinder())
    sys.argv = ["launch_server"]
    server_args = importlib.import_module("sglang.srt.server_args")
    parser = argparse.ArgumentParser()
    server_args.ServerArgs.add_cli_args(parser)
    json.dump({"version": version, "flags": dump(parser)}, sys.stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
