"""Generator of the C wrappers of MPI functions, from `tracer/calls.txt` and the prototypes in mpi.h.

The generator sorts the functions that mpi.h declares into three kinds. Traced functions have a line in the
table and get wrappers for C and Fortran. Local functions involve no other process and are not wrapped. All
other functions are untraceable, and a call to them stops the program with a message. So the tracer misses no
communication with any version of the library.
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
"""Events with a number in the log but no line in the table: see `tracer/marks.c` and `tracer/times.c`."""


@dataclass(frozen=True)
class Call:
    """Recording of a traced function.

    Attributes
    ----------
    parameters : list of str
        Names of the parameters.
    before, sends, brings, writes : str
        C statements; `tracer/calls.txt` describes when each runs.
    mark : str
        ``!``: a rank that runs alone also executes the call; ``?``: a second thread may make the call.
    """

    parameters: list[str]
    before: str
    sends: str
    brings: str
    writes: str
    mark: str


@dataclass(frozen=True)
class Prototype:
    """A function of mpi.h: its return type, and the type and brackets of each parameter."""

    returns: str
    parameters: list[tuple[str, str]]


def read_calls(text: str) -> tuple[dict[str, Call], list[str]]:
    """Read the table.

    Returns
    -------
    dict of str to Call
        The traced functions by name without ``MPI_``.
    list of str
        Name patterns of local functions.
    """
    calls: dict[str, Call] = {}
    local: list[str] = []
    for line in re.sub(r"\n +", " ", text).splitlines():
        if line.startswith("local "):
            local += line.split()[1:]
        elif match := re.fullmatch(r"(\w[\w, ]*)([!?]?) \((.*?)\) =(.*)", line):
            names, mark, parameters, statements = match.groups()
            parameter_names = [name.strip() for name in parameters.split(",") if name]
            call = Call(parameter_names, **_sections(statements), mark=mark)
            calls |= dict.fromkeys(names.split(", "), call)
        elif line and not line.startswith("#"):
            raise ValueError(f"{CALLS.name}: no line of the table: {line}")
    return calls, local


def _sections(statements: str) -> dict[str, str]:
    """Split C statements by the keyword before them; statements without a keyword are ``writes``."""
    writes, *parts = re.split(rf"\b({'|'.join(_SECTIONS)}): ", statements)
    sections = dict.fromkeys(_SECTIONS, "") | {"writes": writes.strip()}
    return sections | {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def prototypes(header: str) -> dict[str, Prototype]:
    """Parse the functions that a preprocessed mpi.h declares, by name without ``MPI_``."""
    functions = {}
    for returns, name, listed in _PROTOTYPE.findall(re.sub(r"^#.*$", "", header, flags=re.M)):
        listed = re.sub(r"\s+", " ", listed).strip()
        parameters = [] if listed in ("", "void") else [_parameter(part) for part in listed.split(",")]
        functions[name] = Prototype(returns, parameters)
    return functions


def generate(calls: str, header: str) -> str:
    """Return the C source of all wrappers.

    Parameters
    ----------
    calls : str
        Content of `tracer/calls.txt`.
    header : str
        The library's preprocessed mpi.h.
    """
    traced, local = read_calls(calls)
    declared = prototypes(header)
    parts = [_numbers([name for name in declared if name in traced]), '#include "tracer.c"\n']
    for name, prototype in declared.items():
        if call := traced.get(name):
            if len(call.parameters) != len(prototype.parameters):
                raise ValueError(f"{CALLS.name}: {name} has {len(prototype.parameters)} parameters in mpi.h")
            parts += [_in_c(name, prototype, call), _in_fortran(name, prototype, call), _trap_f08(name)]
        elif (call := traced.get(name.removesuffix("_c"))) and _narrows(name, prototype):
            parts += [_with_large_counts(name, prototype, call), _trap_f08(name)]
        elif not any(fnmatchcase(name, pattern) for pattern in local):
            parts += [_trap(name, prototype), _trap_fortran(name), _trap_f08(name)]
    return "\n".join(parts)


def _parameter(text: str) -> tuple[str, str]:
    """Split the declaration of a parameter into its type and the brackets after its name."""
    text = text.strip()
    if text == "...":
        return text, ""
    match = _PARAMETER.match(text)
    return (match["type"].strip(), match["array"]) if match else (text, "")


def _declare(parameters: Sequence[tuple[str, str]], names: Sequence[str]) -> str:
    pairs = zip(parameters, names, strict=True)
    return ", ".join(f"{kind} {name}{array}" for (kind, array), name in pairs) or "void"


def _numbers(names: Sequence[str]) -> str:
    """Return C declarations of the numbers of calls in the log, and of their names."""
    numbers = ", ".join(
        ["CALL_nothing", "CALL_mark", "CALL_Wtime", "CALL_clock", *(f"CALL_{name}" for name in names)]
    )
    shown = ", ".join(f'"{name}"' for name in (*_NO_CALLS, *(f"MPI_{name}" for name in names)))
    return f"enum {{ {numbers}, CALL_COUNT }};\nstatic const char *const call_names[] = {{ {shown} }};"


def _in_c(name: str, prototype: Prototype, call: Call) -> str:
    """Return the wrapper of a traced function for programs in C."""
    arguments = ", ".join(call.parameters)
    local_status = ""
    if "status" in call.parameters:
        local_status = "    MPI_Status local;\n    if (status == MPI_STATUS_IGNORE) status = &local;\n"
    elif "statuses" in call.parameters:
        count = call.parameters[0]
        local_status = (
            f"    MPI_Status local[{count} + 1];\n"
            "    if (statuses == MPI_STATUSES_IGNORE) statuses = local;\n"
        )
    return f"""int MPI_{name}({_declare(prototype.parameters, call.parameters)})
{{
    if (!{_enter(call)}(CALL_{name})) {{
        int code = PMPI_{name}({arguments});
        leave();
        return code;
    }}
    const int first = 0;
{local_status}    {call.before} {call.sends}
    int code = MPI_SUCCESS;
    {_unless_alone(call)}code = PMPI_{name}({arguments});
    if (code == MPI_SUCCESS) {{ {_after(call)} }}
    else cannot_repeat("MPI_{name} fails");
    leave();
    return code;
}}
"""


def _narrows(name: str, prototype: Prototype) -> bool:
    """Return whether a large-count call can be forwarded.

    A nonblocking call with arrays cannot: the copies would have to last until it completes.
    """
    large = [(kind, array) for kind, array in prototype.parameters if _is_large(kind, array)]
    return bool(large) and not (name.startswith("I") and any(array for _, array in large))


def _is_large(kind: str, array: str) -> bool:
    base = kind.removeprefix("const ")
    return base == "MPI_Count" or (base == "MPI_Aint" and bool(array))


def _with_large_counts(name: str, prototype: Prototype, call: Call) -> str:
    """Return the wrapper of an MPI 4 large-count function, which forwards to the function with int counts."""
    here = "here(root, comm)" if "root" in call.parameters else "true"
    arguments, slot = [], 0
    for (kind, array), parameter in zip(prototype.parameters, call.parameters, strict=True):
        if not _is_large(kind, array):
            arguments.append(parameter)
        elif array:
            arguments.append(f"narrow_all({parameter}, {here}, comm, {slot})")
            slot += 1
        else:
            arguments.append(f"narrow({parameter})")
    declared = _declare(prototype.parameters, call.parameters)
    plain = f"MPI_{name.removesuffix('_c')}({', '.join(arguments)})"
    inner = f"PMPI_{name}({', '.join(call.parameters)})"
    return f"int MPI_{name}({declared})\n{{\n    return depth > 0 ? {inner} : {plain};\n}}\n"


def _enter(call: Call) -> str:
    return "enter_from_any_thread" if call.mark == "?" else "enter"


def _unless_alone(call: Call) -> str:
    return "" if call.mark == "!" else "if (mode != ALONE) "


def _after(call: Call) -> str:
    return f"{call.brings} if (mode != ALONE) {{ {call.writes} }}"


def _in_fortran(function: str, prototype: Prototype, call: Call) -> str:
    pairs = list(zip(prototype.parameters, call.parameters, strict=True))
    pairs = [(parameter, name) for parameter, name in pairs if name not in _C_ONLY]
    kinds = [_fortran_type(kind) for (kind, _), _ in pairs]
    declared = [f"{kind}f_{name}" for kind, (_, name) in zip(kinds, pairs, strict=True)]
    texts = [name for (kind, _), name in pairs if "char" in kind]  # Fortran passes their lengths last
    parameters = ", ".join([*declared, "MPI_Fint *f_code", *(f"size_t length_{name}" for name in texts)])
    types = ", ".join([*(kind.strip() for kind in kinds), "MPI_Fint *", *("size_t" for _ in texts)])
    arguments = ", ".join(
        [*(f"f_{name}" for _, name in pairs), "f_code", *(f"length_{name}" for name in texts)]
    )
    late = _STATUSES if call.before else _RESULTS
    before: list[str] = []
    afterwards: list[str] = []
    for (kind, array), name in pairs:
        is_set_before = name not in late or not ("*" in kind or array)
        statements = before if is_set_before else afterwards
        statements.append(_converted(kind, array, name, call.parameters[0]))
    back = [_given_back(kind, name, call.parameters[0]) for (kind, _), name in pairs]
    returned = "" if call.mark == "!" else f"if (mode == ALONE) {{ {' '.join(filter(None, back))} }}"
    fortran_name = f"mpi_{function.lower()}_"
    return f"""extern void p{fortran_name}({types}) __attribute__((weak));
void {fortran_name}({parameters})
{{
    if (!{_enter(call)}(CALL_{function})) {{
        p{fortran_name}({arguments});
        leave();
        return;
    }}
    const int first = 1;
    {_local_fortran_status(call)}
    {" ".join(before)}
    {call.before} {call.sends}
    *f_code = MPI_SUCCESS;
    {_unless_alone(call)}p{fortran_name}({arguments});
    if (*f_code == MPI_SUCCESS) {{ {" ".join(afterwards)} {_after(call)} {returned} }}
    else cannot_repeat("MPI_{function} fails");
    leave();
}}
"""


_C_ONLY = ("argc", "argv")
_STATUSES = ("status", "statuses")
_RESULTS = (*_STATUSES, "request", "requests", "message", "win", "made")
"""Parameters that hold their value only after the call, or also before it if the call completes requests."""


def _fortran_type(kind: str) -> str:
    large = next((name for name in ("MPI_Aint", "MPI_Offset") if name in kind), None)
    return f"{large} *" if large else "void *" if "void" in kind or "char" in kind else "MPI_Fint *"


def _converted(kind: str, array: str, name: str, many: str) -> str:
    """Return the C statement that converts a Fortran argument to the parameter `name` of `many` elements."""
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
    """Return the C statement that sets a Fortran handle or status from the log; empty for other types."""
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


def _local_fortran_status(call: Call) -> str:
    """Return C statements that replace an ignored status by a local variable."""
    space = "[sizeof(MPI_Status) / sizeof(MPI_Fint)]"
    if "status" in call.parameters:
        return f"MPI_Fint local{space}; if (f_status == MPI_F_STATUS_IGNORE) f_status = local;"
    if "statuses" in call.parameters:
        many = f"*f_{call.parameters[0]}"
        return (
            f"MPI_Fint local[{many} + 1]{space}; "
            "if (f_statuses == MPI_F_STATUSES_IGNORE) f_statuses = (MPI_Fint *)local;"
        )
    return ""


def _trap(name: str, prototype: Prototype) -> str:
    names = [f"p{index}" for index in range(len(prototype.parameters))]
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
