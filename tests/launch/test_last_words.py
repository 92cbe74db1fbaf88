"""Why a run ended, from standard errors of real launchers: tests/logs/launchers."""

import pytest

from workflows.launch.last_words import explaining_line
from workflows.paths import ROOT

NO_LIBRARY = "ImportError: libmpi.so.12: cannot open shared object file: No such file or directory"
KILLED = "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed)."
SEGFAULT = "Program received signal SIGSEGV: Segmentation fault - invalid memory reference."
ABORTED = "Abort(7) on node 1 (rank 1 in comm 0): application called MPI_Abort"
REASON_OF_LOG = {
    "openmpi_wrong_library": NO_LIBRARY,
    "openmpi_exception": "ZeroDivisionError: division by zero",
    "openmpi_exit_status": "grid too small for 2 ranks",
    "openmpi_abort": "mesh does not divide",
    "openmpi_killed": KILLED.replace("mpirun", "mpirun.openmpi"),
    "openmpi_no_program": (
        "mpirun.openmpi was unable to launch the specified application as it could not access or execute an "
        "executable: Executable: /nowhere/solver"
    ),
    "openmpi_peer_gone": KILLED,
    "openmpi_silent": None,
    "mpich_exception": "ZeroDivisionError: division by zero",
    "mpich_abort": "mesh does not divide",
    "mpich_no_program": (
        "[proxy:0:0@vm] HYDU_create_process (utils/launch/launch.c:73): execvp error on file /nowhere/solver "
        "(No such file or directory)"
    ),
}


@pytest.mark.parametrize(("log", "line"), REASON_OF_LOG.items())
def test_the_line_that_names_the_error_counts(log, line):
    assert explaining_line((ROOT / f"tests/logs/launchers/{log}.err").read_text()) == line


@pytest.mark.parametrize(
    ("errors", "line"),
    [
        ("wrong input\n-----\n\n", "wrong input"),
        ("\n", None),
        (f"[vm:23671] Read -1, expected 11223, errno = 3\n{KILLED}\n", KILLED),
        (f"[vm][[7399,1],0][../opal/mca/btl/tcp/btl_tcp_endpoint.c:1065:mca_btl_tcp_endpoint_send_handler] "
         f"invalid connection state (2)\n{KILLED}\n", KILLED),
        (f"{SEGFAULT}\n\nBacktrace for this error:\n#0  0x7f11e25b6050 in ???\n#15  0xffffffffffffffff in ???\n",
         SEGFAULT),
        (f"{ABORTED}\n", ABORTED),
        ("--------\nMPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 7.\n\nNOTE: x\n",
         "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD with errorcode 7."),
    ],
)  # fmt: skip
def test_without_such_a_line_the_next_best_counts(errors, line):
    assert explaining_line(errors) == line
