"""Emulated nodes: link rates, placement of ranks, and complete removal."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from needs import DEFAULT_SIGNALS, NAMESPACES
from programs import printed, ran
from waiting import wait_until

from workflows.errors import EmulationError
from workflows.launch import emulation
from workflows.launch.emulation import EmulatedNode, emulated_nodes
from workflows.launch.leftovers import MARK, owner, remove_stale

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.needs(NAMESPACES)]

LINK = {"nodes": 2, "cores_per_node": 1, "rate_mbps": 1000, "mtu": 1500}
LINK |= {"burst_bytes": 2048, "gso_max_bytes": 6000}
PINGPONG = [sys.executable, str(Path(__file__).with_name("pingpong.py").resolve())]


def on(node: EmulatedNode, *command: str) -> str:
    return printed(*node.enter(command))


def host_network() -> str:
    return printed("ip", "-o", "link") + printed("ip", "-o", "addr") + printed("ip", "netns", "list")


def marked(mark: str) -> list[int]:
    """Processes of runs of the owner `mark`."""
    pids = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={mark}".encode() in file.read_bytes().split(b"\0"):
                pids.append(int(file.parent.name))
        except OSError:  # has ended
            continue
    return pids


def inside(*nodes: EmulatedNode) -> list[int]:
    return list(emulation.occupants([node.net for node in nodes]))


@pytest.fixture(autouse=True)
def machine_is_as_before() -> Iterator[None]:
    network = host_network()
    yield
    assert host_network() == network
    assert not marked(owner())
    assert not list(Path("/dev/shm").glob("*emulated-node*"))


def test_a_node_has_its_own_name_cores_and_network():
    network = host_network()
    with emulated_nodes(LINK) as nodes:
        assert host_network() == network
        for node in nodes:
            assert on(node, "uname", "-n").strip() == node.name
            assert f"Cpus_allowed_list:\t{node.cores[0]}\n" in on(node, "cat", "/proc/self/status")
            assert on(node, "cat", "/proc/sys/net/ipv4/tcp_congestion_control").strip() == "reno"
            loopback, link = json.loads(on(node, "ip", "-json", "addr"))
            assert (loopback["ifname"], link["ifname"], link["mtu"]) == ("lo", "eth0", 1500)
            assert "UP" in loopback["flags"] and "UP" in link["flags"]
            assert [address["local"] for address in link["addr_info"]] == [node.address]
            assert [route["dst"] for route in json.loads(on(node, "ip", "-json", "route"))] == ["10.0.0.0/24"]
        assert len({core for node in nodes for core in node.cores}) == 2


def one_way_seconds(run, name: str, processes: int = 2, level: int = 1) -> dict[int, float]:
    ran = run(name, PINGPONG, processes, level)
    assert (ran.execution.exit_status, ran.problem, ran.left) == (0, None, []), ran.execution.errors
    return {int(size): seconds for size, seconds in json.loads(ran.execution.lines[-1].text).items()}


def best_rate(run, name: str, enough: float, attempts: int = 5) -> float:
    """Highest rate in MB/s at 1 MB messages; more than one attempt only on a machine that is not idle."""
    rates: list[float] = []
    while len(rates) < attempts and max(rates, default=0) < enough:
        rates.append(1.0 / one_way_seconds(run, name)[1_000_000])
    return max(rates)


def test_emulated_links_carry_the_rates_that_they_name(run):
    gigabit = best_rate(run, "emulated_gigabit", enough=100)
    ten_gigabit = best_rate(run, "emulated_ten_gigabit", enough=7 * gigabit)
    assert 90 < gigabit < 122
    assert 7 * gigabit < ten_gigabit < 1300


def test_shared_memory_is_faster_than_the_emulated_link_in_both_respects(run):
    memory, gigabit = (one_way_seconds(run, name) for name in ("shared_memory", "emulated_gigabit"))
    assert memory[0] < gigabit[0]
    assert memory[1_000_000] < gigabit[1_000_000] / 10


@pytest.mark.parametrize("level", [1, 2])
def test_ranks_are_on_both_nodes_each_on_its_own_core(run, level):
    ran = run("emulated_gigabit", ["hostname"], 2 * level, level)
    assert ran.problem is None
    hosts = [host for host in ("emulated-node1", "emulated-node2") for _ in range(level)]
    assert [rank["host"] for rank in ran.placement] == hosts
    assert sorted(line.text for line in ran.execution.lines) == hosts
    cores = sorted(os.sched_getaffinity(0))[:2]
    assert [int(rank["cores"]) for rank in ran.placement] == [core for core in cores for _ in range(level)]


@pytest.mark.parametrize("level", [1, 2])
def test_ranks_of_this_machine_are_pinned_in_turn(run, level):
    ran = run("shared_memory", ["hostname"], 2 * level, level)
    assert ran.problem is None
    assert [int(rank["cores"]) for rank in ran.placement] == sorted(os.sched_getaffinity(0))[:2] * level


SEND = """
import socket, sys
with socket.create_connection(("10.0.0.1", 5000), timeout=20) as peer:
    peer.sendall(bytes(20_000_000))
"""
RECEIVE = """
import selectors, socket, time
with socket.create_server(("10.0.0.1", 5000)) as server, selectors.DefaultSelector() as ready:
    print("listening", flush=True)
    for _ in range(2):
        ready.register(server.accept()[0], selectors.EVENT_READ)
    start, received = time.perf_counter(), 0
    while ready.get_map():
        for key, _ in ready.select():
            data = key.fileobj.recv(1 << 16)
            received += len(data)
            if not data:
                ready.unregister(key.fileobj)
print(received, received / (time.perf_counter() - start) / 1e6)
"""


@pytest.mark.parametrize("name", [None, "shared_memory", "shared_memory_mpich", "emulated_gigabit"])
def test_output_of_ranks_bypasses_the_launcher(run, name):
    script = 'echo $(readlink /proc/$$/fd/1 "$NODEWORTH_OUTPUT")'
    done = run(name, ["sh", "-c", script], 2 if name else 1).execution
    pipes = [line.text.split() for line in done.lines]
    assert len(pipes) == (2 if name else 1) and all(output == read for output, read in pipes)


def test_two_senders_share_the_link_of_one_receiver(monkeypatch):
    cores = sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(emulation, "usable_cores", lambda: (cores * 3)[:3])
    with emulated_nodes(LINK | {"nodes": 3}) as (receiver, *senders):
        python = [sys.executable, "-c"]
        receive = receiver.enter([*python, RECEIVE])
        with subprocess.Popen(receive, stdout=subprocess.PIPE, text=True) as receiving:
            assert receiving.stdout.readline() == "listening\n"
            sending = [subprocess.Popen(sender.enter([*python, SEND])) for sender in senders]
            received, rate = receiving.communicate(timeout=60)[0].split()
        assert [sender.wait(timeout=10) for sender in sending] == [0, 0]
    assert int(received) == 40_000_000
    assert float(rate) < 130  # bytes under way when the clock starts come on top of the link's 122


LISTEN = """
import socket
with socket.create_server(("10.0.0.1", 5000)) as server:
    print("listening", flush=True)
    server.accept()
"""
CONNECT = "import socket; socket.create_connection(('10.0.0.1', 5000), timeout=10)"


def test_interconnects_built_at_once_do_not_reach_each_other():
    python = [sys.executable, "-c"]
    with emulated_nodes(LINK) as (first_node, two), emulated_nodes(LINK) as (_, other_two):
        listen = first_node.enter([*python, LISTEN])
        with subprocess.Popen(listen, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout.readline() == "listening\n"
            connect = other_two.enter([*python, CONNECT])
            assert "ConnectionRefusedError" in ran(*connect).stderr
            on(two, *python, CONNECT)
            assert server.wait(timeout=10) == 0


def test_processes_in_a_node_end_with_it():
    with pytest.raises(ZeroDivisionError), emulated_nodes(LINK) as nodes:
        escaped = subprocess.Popen(nodes[1].enter(["sh", "-c", "setsid sleep 300 & exec sleep 300"]))
        assert wait_until(lambda: len(inside(nodes[1])) == 2)
        1 / 0  # noqa: B018
    assert escaped.wait(timeout=10) == -signal.SIGKILL


def test_a_link_that_cannot_be_built_leaves_nothing_and_states_the_reason():
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    message = r"^ip link add port0 mtu 10 .*: RTNETLINK answers: Invalid argument"
    with pytest.raises(EmulationError, match=message), emulated_nodes(LINK | {"mtu": 10}):
        pytest.fail("built")
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_packets_leave_later_where_the_kernel_has_netem(run):
    netem = ran("unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1us")
    if netem.returncode:
        message = r"^this kernel has no netem \(CONFIG_NET_SCH_NETEM\), which emulate.delay_us needs$"
        with pytest.raises(EmulationError, match=message), emulated_nodes(LINK | {"delay_us": 24}):
            pytest.fail("built")
    else:
        plain, delayed = (
            one_way_seconds(run, name)[0] for name in ("emulated_gigabit", "emulated_gigabit_delayed")
        )
        assert delayed > 2 * plain


OWNER = """
import sys
from pathlib import Path
from workflows.domain import Point
from workflows.launch.emulation import emulated_nodes
from workflows.launch.execution import execute
from workflows.study.interconnects import load_interconnect
from workflows.launch.launch import launch_ranks
folder, nap = Path(sys.argv[1]), sys.argv[2]
interconnect = load_interconnect("emulated_gigabit", Path("config/interconnects"))
with emulated_nodes(interconnect.emulate) as nodes:
    point = Point("case", interconnect.name, 2, 1, 2, 2)
    launch = launch_ranks(point, interconnect, nodes, ["sleep", nap], {}, folder)
    execute(launch.argv, launch.env, folder, 600)
"""


@pytest.fixture
def running(scratch) -> Iterator[tuple[subprocess.Popen, str]]:
    """Start a process that runs two ranks on emulated nodes; they are running when the test starts."""
    command = [*DEFAULT_SIGNALS, sys.executable, "-c", OWNER, str(scratch), str(random.uniform(300, 400))]
    environment = dict(os.environ)  # without what MPI adds when a test initialises it in this process
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as process:
        mark = owner(process.pid)
        assert wait_until(lambda: len(list(scratch.glob("[01]"))) == 2)
        yield process, mark
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_takes_ranks_and_nodes_down(running, number):
    process, mark = running
    assert len(marked(mark)) >= 4  # mpirun, its daemon on the other node, two ranks
    process.send_signal(number)
    process.wait(timeout=30)
    assert not marked(mark)


def test_ranks_and_nodes_die_with_a_killed_owner(running):
    process, mark = running
    namespaces = {Path(f"/proc/{pid}/ns/net").readlink() for pid in marked(mark)}
    assert len(namespaces) == 2
    process.kill()
    assert wait_until(lambda: not marked(mark))
    used = set()
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            used.add(link.readlink())
        except OSError:  # has ended
            continue
    assert not namespaces & used


def test_a_living_owner_and_a_foreign_namespace_are_left_alone(running):
    process, mark = running
    name = f"test-{random.randrange(10**9)}"
    with subprocess.Popen(["unshare", "--net", "sleep", "300"]) as foreign:
        try:
            printed("ip", "netns", "add", name)
            with emulated_nodes(LINK):
                remove_stale()
            assert foreign.poll() is None
            assert name in printed("ip", "netns", "list")
        finally:
            printed("ip", "netns", "delete", name)
            foreign.kill()
    assert len(marked(mark)) >= 4
    assert process.poll() is None


HYDROGEN = """
start hydrogen
geometry
 H 0 0 0
 H 0 0 0.74
end
basis
 * library sto-3g
end
scf; direct; end
task scf
"""


def energy(run, scratch: Path, name: str | None, processes: int) -> float:
    (scratch / "hydrogen.nw").write_text(HYDROGEN)
    ran = run(name, ["nwchem", str(scratch / "hydrogen.nw")], processes, OMP_NUM_THREADS="1")
    assert (ran.execution.exit_status, ran.problem) == (0, None), ran.execution.errors
    [energy_line] = [line.text for line in ran.execution.lines if "Total SCF energy" in line.text]
    return float(energy_line.split("=")[1])


def test_one_sided_messages_of_nwchem_pass_every_interconnect(run, scratch):
    serial = energy(run, scratch, None, 1)
    for name in ("shared_memory", "tcp_loopback", "emulated_gigabit", "emulated_ten_gigabit"):
        assert energy(run, scratch, name, 2) == pytest.approx(serial, abs=1e-7)
