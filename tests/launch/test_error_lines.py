"""The line that names the error of programs with well-known error lines: causes before their consequences."""

import pytest

from workflows.launch.last_words import error_line, explaining_line

FATAL_IO = """[3]
[3] --> FOAM FATAL IO ERROR: (openfoam-2312)
[3] Entry 'nuTilda' not found in dictionary "system/fvSolution/solvers"
[3]
[3] file: system/fvSolution/solvers at line 20 to 60.
[3]
[3]     From const Foam::dictionary& Foam::dictionary::subDict(const Foam::word&) const
[3]     in file db/dictionary/dictionary.C at line 582.
[3]
FOAM parallel run exiting
"""
FATAL = """[2] --> FOAM FATAL ERROR:
[2] Maximum number of iterations exceeded: 100 when starting from T0:-33.7
[2]
[2]     From function Foam::scalar Foam::species::thermo<Thermo, Type>::T() const
[2]     in file /opt/openfoam11/src/lnInclude/thermoI.H at line 80.
[2]
FOAM parallel run aborting
[2] #0  Foam::error::printStack(Foam::Ostream&) at ??:?
"""
MIXED = """[0]
[0] --> FOAM FATAL IO ERROR: (openfoam-2012)[1]
[1]
[1] --> FOAM FATAL IO ERROR: (openfoam-2012
[2]
[2] --> FOAM FATAL IO ERROR: (openfoam-2012)
[2] Unknown solver type smmothSolver

Valid solver types :
2(GAMG smoothSolver)
[2] file: system/fvSolution at line 46.
[2]     From static Foam::lduMatrix::solver::New()
"""
SIGNAL = """[1] #0  Foam::error::printStack(Foam::Ostream&) at ??:?
[1] #1  Foam::sigFpe::sigHandler(int) at ??:?
[1] #2  ? in "/lib/x86_64-linux-gnu/libc.so.6"
[1] #3  Foam::divide(Foam::Field<double>&) at ??:?
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned a non-zero exit code.
--------------------------------------------------------------------------
mpirun noticed that process rank 1 with PID 7 on node n1 exited on signal 8 (Floating point exception).
"""
ARMCI = """0:Segmentation Violation error, status=: 11
(rank:0 hostname:n1 pid:11857):ARMCI DASSERT fail. src/common/signaltrap.c:SigSegvHandler():315 cond:0
1:Terminate signal was sent, status=: 15
"""
MPI = """[n1:7] *** An error occurred in MPI_Recv
[n1:7] *** reported by process [1,0]
[n1:7] *** on communicator MPI_COMM_WORLD
[n1:7] *** MPI_ERR_TRUNCATE: message truncated
[n1:7] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,
"""

GROMACS = """\
-------------------------------------------------------
Program:     gmx mdrun, version 2022.5-Debian_2022.5_2
Source file: src/gromacs/commandline/cmdlineparser.cpp (line 271)
Function:    void gmx::CommandLineParser::parse(int*, char**)

Error in user input:
Invalid command-line options
  In command-line option -s
    File 'topl.tpr' does not exist or is not accessible.
    The file could not be opened.
      Reason: No such file or directory

For more information and tips for troubleshooting, please check the GROMACS
website at http://www.gromacs.org/Documentation/Errors
-------------------------------------------------------
--------------------------------------------------------------------------
MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD
with errorcode 1.
--------------------------------------------------------------------------
"""


@pytest.mark.parametrize(
    ("errors", "line"),
    [
        (GROMACS, "GROMACS stopped: File 'topl.tpr' does not exist or is not accessible. "
                  "The file could not be opened. Reason: No such file or directory"),
        ("".join(f"[1,0]<stderr>: {text}" for text in GROMACS.splitlines(True)),
         "GROMACS stopped: File 'topl.tpr' does not exist or is not accessible. "
         "The file could not be opened. Reason: No such file or directory"),
        (FATAL_IO, "FOAM FATAL IO ERROR: Entry 'nuTilda' not found in dictionary \"system/fvSolution/solvers\" "
                   "(file: system/fvSolution/solvers at line 20 to 60)"),
        (FATAL, "FOAM FATAL ERROR: Maximum number of iterations exceeded: 100 when starting from T0:-33.7"),
        (MIXED, "FOAM FATAL IO ERROR: Unknown solver type smmothSolver (file: system/fvSolution at line 46)"),
        (SIGNAL, "floating point exception (Foam::sigFpe)"),
        (SIGNAL.replace("sigFpe", "sigSegv"), "segmentation fault (Foam::sigSegv)"),
        (ARMCI, "Segmentation Violation error, status=: 11"),
        (ARMCI.splitlines(True)[2] + "0:Floating Point Exception error, status=: 8\n",
         "Floating Point Exception error, status=: 8"),
        (MPI, "[n1:7] *** An error occurred in MPI_Recv *** MPI_ERR_TRUNCATE: message truncated"),
        ("ERROR on proc 3: Out of range atoms - cannot compute PPPM (src/pppm.cpp:1900)\nLast command: run 100\n"
         "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 3\n",
         "ERROR on proc 3: Out of range atoms - cannot compute PPPM (src/pppm.cpp:1900)"),
        ("[1,2]<stderr>:ERROR: Unknown pair style lj/cutt (src/force.cpp:275)\n",
         "ERROR: Unknown pair style lj/cutt (src/force.cpp:275)"),
        ("Abort(15) on node 1 (rank 1 in comm 0): Fatal error in internal_Recv: Message truncated, error stack:\n"
         "internal_Recv(117): MPI_Recv(buf=0x7ffd, count=1) failed\n",
         "Abort(15) on node 1 (rank 1 in comm 0): Fatal error in internal_Recv: Message truncated"),
        ("solve: mesh.c:12: main: Assertion `n > 0' failed.\n[n1:7] *** Process received signal ***\n"
         "[n1:7] Signal: Aborted (6)\n[n1:7] [ 0] /lib/libc.so.6(+0x3c050)[0x7f]\n",
         "solve: mesh.c:12: main: Assertion `n > 0' failed."),
        ("terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::_M_range_check\n",
         "terminate called after throwing an instance of 'std::out_of_range' what():  vector::_M_range_check"),
        ("At line 7 of file in.f90 (unit = 10)\nFortran runtime error: End of file\n\nError termination. Backtrace:\n"
         "#0  0x7f in main\n", "At line 7 of file in.f90 (unit = 10) Fortran runtime error: End of file"),
        ("forrtl: severe (174): SIGSEGV, segmentation fault occurred\nImage  PC  Routine\nsolve  00401  Unknown\n",
         "forrtl: severe (174): SIGSEGV, segmentation fault occurred"),
        ("free(): invalid pointer\n[n1:7] *** Process received signal ***\n", "free(): invalid pointer"),
        ("solve: ERROR in step 3\nMemory cgroup out of memory: Killed process 7 (solve)\n",
         "Memory cgroup out of memory: Killed process 7 (solve)"),
    ],
)  # fmt: skip
def test_the_cause_is_named(errors, line):
    assert error_line(errors) == line
    assert explaining_line(f"reading mesh\n{errors}\nbye\n") == line


@pytest.mark.parametrize(
    "errors", ["reading mesh", "error: 3.2e-5 in step 7", "no ERROR here", "[0] residual 1e-3", "0: 5", ""]
)
def test_other_lines_name_no_error(errors):
    assert error_line(errors) is None


def test_a_frame_of_a_backtrace_explains_nothing():
    assert (
        explaining_line("bad input\n[0] #0  solve(int) at solve.c:7\n[0] #1  main at main.c:3\n")
        == "bad input"
    )
