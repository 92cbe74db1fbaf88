"""The C source of the tracer's wrappers: `tracer/calls.txt` applied to the prototypes of a library's mpi.h.

Every function that mpi.h declares is one of three: known (a line of the table, wrapped in C and Fortran),
local (involves no other process, not wrapped) or neither. A program that calls one of the last kind is
stopped with one line. So the tracer cannot miss communication, whatever the version of the library.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

CALLS = Path(__file__).parent / "tracer/calls.txt"

_PROTOTYPE = re.compile(r"\b(int|double|MPI_\w+)\s+MPI_([A-Z]\w*)\s*\(([^;{}]*?)\)\s*(?:__attribute__|;)")
_PARAMETER = re.compile(r"^(?P<type>.*?[\s*])(?P<name>\w+)\s*(?P<array>(?:\[\d*\])*)$", re.S)
_FROM_FORTRAN = {
    "MPI_Comm": "PMPI_Comm_f2c(*{0})",
    "MPI_Datatype": "PMPI_Type_f2c(*{0})",
    "MPI_Op": "PMPI_Op_f2c(*{0})",
    "MPI_Win": "PMPI_Win_f2c(*{0})",
    "MPI_Message": "message_f2c(*{0})",
    "MPI_Request": "request_f2c(*{0})",
    "MPI_Group": "PMPI_Group_f2c(*{0})",
    "MPI_Info": "PMPI_Info_f2c(*{0})",
    "MPI_File": "PMPI_File_f2c(*{0})",
    "MPI_Aint": "*{0}",
    "MPI_Offset": "*{0}",
    "int": "*{0}",
}


_SECTIONS = ("before", "sends", "brings", "writes")
_NO_CALLS = ("nothing", "printing of a step", "MPI_Wtime", "reading of a clock")
"""What has a number in the log and is no line of the table: see `tracer/marks.c` and `tracer/times.c`."""


@dataclass(frozen=True)
class Call:
    """How a known function is recorded.

    Attributes
    ----------
    parameters : list of str
        Their names.
    before, sends, brings, writes : str
        C statements, as `tracer/calls.txt` says.
    mark : str
        ``!``: it is carried out by a rank that runs by itself, too; ``?``: a second thread may make it.
    """

    parameters: list[str]
    before: str
    sends: str
    brings: str
    writes: str
    mark: str


@dataclass(frozen=True)
class Prototype:
    """A function of mpi.h: the type that it returns, and type and brackets of each parameter."""

    returns: str
    parameters: list[tuple[str, str]]


def read_calls(text: str) -> tuple[dict[str, Call], list[str]]:
    """Read the table.

    Returns
    -------
    dict of str to Call
        By name without ``MPI_``.
    list of str
        Patterns of the names of local functions.
    """
    calls, local = {}, []
    for line in re.sub(r"\n +", " ", text).splitlines():
        if line.startswith("local "):
            local += line.split()[1:]
        elif match := re.fullmatch(r"(\w[\w, ]*)([!?]?) \((.*?)\) =(.*)", line):
            names, mark, parameters, statements = match.groups()
            own = [name.strip() for name in parameters.split(",") if name]
            call = Call(own, **_sections(statements), mark=mark)
            calls |= dict.fromkeys(names.split(", "), call)
        elif line and not line.startswith("#"):
            raise ValueError(f"{CALLS.name}: no line of the table: {line}")
    return calls, local


def _sections(statements: str) -> dict[str, str]:
    """Statements by the word that says when they run."""
    written, *parts = re.split(rf"\b({'|'.join(_SECTIONS)}): ", statements)
    found = dict.fromkeys(_SECTIONS, "") | {"writes": written.strip()}
    return found | {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def prototypes(header: str) -> dict[str, Prototype]:
    """Find the functions that a preprocessed mpi.h declares, by name without ``MPI_``."""
    found = {}
    for returns, name, listed in _PROTOTYPE.findall(re.sub(r"^#.*$", "", header, flags=re.M)):
        listed = re.sub(r"\s+", " ", listed).strip()
        parameters = [] if listed in ("", "void") else [_parameter(part) for part in listed.split(",")]
        found[name] = Prototype(returns, parameters)
    return found


def generate(calls: str, header: str) -> str:
    """Write the C source of all wrappers.

    Parameters
    ----------
    header : str
        mpi.h of the library, preprocessed.
    """
    known, local = read_calls(calls)
    declared = prototypes(header)
    parts = [_numbers([name for name in declared if name in known]), '#include "tracer.c"\n']
    for name, prototype in declared.items():
        if call := known.get(name):
            if len(call.parameters) != len(prototype.parameters):
                raise ValueError(f"{CALLS.name}: {name} has {len(prototype.parameters)} parameters in mpi.h")
            parts += [_in_c(name, prototype, call), _in_fortran(name, prototype, call), _trap_f08(name)]
        elif (call := known.get(name.removesuffix("_c"))) and _narrows(name, prototype):
            parts += [_with_large_counts(name, prototype, call), _trap_f08(name)]
        elif not any(fnmatchcase(name, pattern) for pattern in local):
            parts += [_trap(name, prototype), _trap_fortran(name), _trap_f08(name)]
    return "\n".join(parts)


def _parameter(text: str) -> tuple[str, str]:
    """Type of a parameter and what follows its name, from its declaration."""
    text = text.strip()
    if text == "...":
        return text, ""
    match = _PARAMETER.match(text)
    return (match["type"].strip(), match["array"]) if match else (text, "")


def _declare(parameters: Sequence[tuple[str, str]], names: Sequence[str]) -> str:
    pairs = zip(parameters, names, strict=True)
    return ", ".join(f"{kind} {name}{array}" for (kind, array), name in pairs) or "void"


def _numbers(names: Sequence[str]) -> str:
    """The numbers that calls have in the log, and their names."""
    numbers = ", ".join(
        ["CALL_nothing", "CALL_mark", "CALL_Wtime", "CALL_clock", *(f"CALL_{name}" for name in names)]
    )
    shown = ", ".join(f'"{name}"' for name in (*_NO_CALLS, *(f"MPI_{name}" for name in names)))
    return f"enum {{ {numbers}, CALL_COUNT }};\nstatic const char *const call_names[] = {{ {shown} }};"


def _in_c(name: str, prototype: Prototype, call: Call) -> str:
    arguments = ", ".join(call.parameters)
    own = ""
    if "status" in call.parameters:
        own = "    MPI_Status own;\n    if (status == MPI_STATUS_IGNORE) status = &own;\n"
    elif "statuses" in call.parameters:
        many = call.parameters[0]
        own = f"    MPI_Status own[{many} + 1];\n    if (statuses == MPI_STATUSES_IGNORE) statuses = own;\n"
    return f"""int MPI_{name}({_declare(prototype.parameters, call.parameters)})
{{
    if (!{_enter(call)}(CALL_{name})) {{
        int code = PMPI_{name}({arguments});
        leave();
        return code;
    }}
    const int first = 0;
{own}    {call.before} {call.sends}
    int code = MPI_SUCCESS;
    {_unless_alone(call)}code = PMPI_{name}({arguments});
    if (code == MPI_SUCCESS) {{ {_after(call)} }}
    else cannot_repeat("MPI_{name} fails");
    leave();
    return code;
}}
"""


def _narrows(name: str, prototype: Prototype) -> bool:
    """Whether a call with large counts can be made the one without; arrays that must last are not copied."""
    large = [(kind, array) for kind, array in prototype.parameters if _is_large(kind, array)]
    return bool(large) and not (name.startswith("I") and any(array for _, array in large))


def _is_large(kind: str, array: str) -> bool:
    base = kind.removeprefix("const ")
    return base == "MPI_Count" or (base == "MPI_Aint" and bool(array))


def _with_large_counts(name: str, prototype: Prototype, call: Call) -> str:
    """The call of MPI 4 that takes large counts, by the one that does not."""
    here = "here(root, comm)" if "root" in call.parameters else "true"
    given, slot = [], 0
    for (kind, array), own in zip(prototype.parameters, call.parameters, strict=True):
        if not _is_large(kind, array):
            given.append(own)
        elif array:
            given.append(f"narrow_all({own}, {here}, comm, {slot})")
            slot += 1
        else:
            given.append(f"narrow({own})")
    declared = _declare(prototype.parameters, call.parameters)
    plain = f"MPI_{name.removesuffix('_c')}({', '.join(given)})"
    inner = f"PMPI_{name}({', '.join(call.parameters)})"
    return f"int MPI_{name}({declared})\n{{\n    return depth > 0 ? {inner} : {plain};\n}}\n"


def _enter(call: Call) -> str:
    return "ask" if call.mark == "?" else "enter"


def _unless_alone(call: Call) -> str:
    return "" if call.mark == "!" else "if (mode != ALONE) "


def _after(call: Call) -> str:
    return f"{call.brings} if (mode != ALONE) {{ {call.writes} }}"


def _in_fortran(name: str, prototype: Prototype, call: Call) -> str:
    pairs = list(zip(prototype.parameters, call.parameters, strict=True))
    pairs = [(parameter, own) for parameter, own in pairs if own not in _C_ONLY]
    kinds = [_fortran_type(kind) for (kind, _), _ in pairs]
    declared = [f"{kind}f_{own}" for kind, (_, own) in zip(kinds, pairs, strict=True)]
    texts = [own for (kind, _), own in pairs if "char" in kind]  # their lengths come last
    given = ", ".join([*declared, "MPI_Fint *f_code", *(f"size_t length_{own}" for own in texts)])
    types = ", ".join([*(kind.strip() for kind in kinds), "MPI_Fint *", *("size_t" for _ in texts)])
    arguments = ", ".join([*(f"f_{own}" for _, own in pairs), "f_code", *(f"length_{own}" for own in texts)])
    late = _STATUSES if call.before else _RESULTS
    when_known, afterwards = [], []
    for (kind, array), own in pairs:
        known = own not in late or not ("*" in kind or array)
        made = when_known if known else afterwards
        made.append(_converted(kind, array, own, call.parameters[0]))
    back = [_given_back(kind, own, call.parameters[0]) for (kind, _), own in pairs]
    given_back = "" if call.mark == "!" else f"if (mode == ALONE) {{ {' '.join(filter(None, back))} }}"
    f_name = f"mpi_{name.lower()}_"
    return f"""extern void p{f_name}({types}) __attribute__((weak));
void {f_name}({given})
{{
    if (!{_enter(call)}(CALL_{name})) {{
        p{f_name}({arguments});
        leave();
        return;
    }}
    const int first = 1;
    {_own_fortran_status(call)}
    {" ".join(when_known)}
    {call.before} {call.sends}
    *f_code = MPI_SUCCESS;
    {_unless_alone(call)}p{f_name}({arguments});
    if (*f_code == MPI_SUCCESS) {{ {" ".join(afterwards)} {_after(call)} {given_back} }}
    else cannot_repeat("MPI_{name} fails");
    leave();
}}
"""


_C_ONLY = ("argc", "argv")
_STATUSES = ("status", "statuses")
_RESULTS = (*_STATUSES, "request", "requests", "message", "win", "made")
"""Parameters that hold their value only after the call; requests before it too, where it completes them."""


def _fortran_type(kind: str) -> str:
    large = next((name for name in ("MPI_Aint", "MPI_Offset") if name in kind), None)
    return f"{large} *" if large else "void *" if "void" in kind or "char" in kind else "MPI_Fint *"


def _converted(kind: str, array: str, name: str, many: str) -> str:
    """C statement that makes the parameter `name` of what Fortran gave; `many` counts its elements."""
    base = kind.replace("const", "").replace("*", "").strip()
    pointed = "*" in kind or array
    if base == "void":
        return f"void *{name} = address_f2c(f_{name});"
    if name == "status":
        return "MPI_Status made, *status = &made; if (mode != ALONE) PMPI_Status_f2c(f_status, status);"
    if name == "statuses":
        step = "sizeof(MPI_Status) / sizeof(MPI_Fint)"
        each = f"PMPI_Status_f2c(f_statuses + i * ({step}), &statuses[i]);"
        return f"MPI_Status statuses[{many} + 1]; for (int i = 0; mode != ALONE && i < {many}; i++) {each}"
    if name == "requests":
        return f"MPI_Request *requests = requests_of({many}, f_requests);"
    if not pointed:
        return f"{base} {name} = {_FROM_FORTRAN[base].format(f'f_{name}')};"
    if base == "char":
        return ""
    if base in ("int", "MPI_Offset"):
        return f"{_fortran_type(base)}{name} = f_{name};"
    if name in _RESULTS or base in ("MPI_Comm", "MPI_Group", "MPI_File"):
        value = _FROM_FORTRAN[base].format(f"f_{name}")
        return f"{base} made_{name} = {value}, *{name} = &made_{name};"
    raise ValueError(f"{CALLS.name}: no conversion from Fortran of {kind} {name}{array}")


def _given_back(kind: str, name: str, many: str) -> str:
    """C statement that gives Fortran the handle or status that came in without the library; else none."""
    step = "sizeof(MPI_Status) / sizeof(MPI_Fint)"
    if name == "win" and "*" in kind:
        return "*f_win = PMPI_Win_c2f(*win);"
    if "MPI_File" in kind and "*" in kind:
        return f"*f_{name} = *{name} == MPI_FILE_NULL ? PMPI_File_c2f(MPI_FILE_NULL) : 1; /* not used */"
    if name == "made":
        return f"*f_made = P{kind.strip('* ')}_c2f(*made);"
    return {
        "request": "*f_request = request_c2f(*request);",
        "requests": f"for (int i = 0; i < {many}; i++) f_requests[i] = request_c2f(requests[i]);",
        "message": "*f_message = message_c2f(*message);",
        "status": "PMPI_Status_c2f(status, f_status);",
        "statuses": f"for (int i = 0; i < {many}; i++) "
        f"PMPI_Status_c2f(&statuses[i], f_statuses + i * ({step}));",
    }.get(name, "")


def _own_fortran_status(call: Call) -> str:
    """Statements that put a status of our own where the program wants none."""
    space = "[sizeof(MPI_Status) / sizeof(MPI_Fint)]"
    if "status" in call.parameters:
        return f"MPI_Fint own{space}; if (f_status == MPI_F_STATUS_IGNORE) f_status = own;"
    if "statuses" in call.parameters:
        many = f"*f_{call.parameters[0]}"
        return (
            f"MPI_Fint own[{many} + 1]{space}; "
            "if (f_statuses == MPI_F_STATUSES_IGNORE) f_statuses = (MPI_Fint *)own;"
        )
    return ""


def _trap(name: str, prototype: Prototype) -> str:
    names = [f"p{place}" for place in range(len(prototype.parameters))]
    return f"""{prototype.returns} MPI_{name}({_declare(prototype.parameters, names)})
{{
    if (depth == 0) unknown("MPI_{name}");
    return PMPI_{name}({", ".join(names)});
}}
"""


def _trap_fortran(name: str) -> str:
    f_name = f"mpi_{name.lower()}_"
    return f'void {f_name}(void) {{ unknown("{f_name}"); }}\n'


def _trap_f08(name: str) -> str:
    f_name = f"mpi_{name.lower()}_f08_"
    return f'void {f_name}(void) {{ unknown("{f_name}"); }}\n'
