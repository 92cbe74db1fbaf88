"""A model made by one command from the output of a benchmark, and the refusals of the command."""

import pandas as pd
import pytest
from refused import refusal

from workflows.domain import InputError
from workflows.paths import INTERCONNECTS, RESULTS, ROOT
from workflows.replay import new_model as command
from workflows.replay.new_model import new_model
from workflows.study.asked import read_asked
from workflows.study.interconnects import load_interconnect

OSU = ROOT / "tests/importers/files/osu"


@pytest.fixture(autouse=True)
def fitted(tmp_path, monkeypatch):
    """Folder with the fits of models."""
    monkeypatch.setattr(command, "MODELS", tmp_path / "fitted")
    return tmp_path / "fitted"


def test_a_model_from_osu_output_is_written_next_to_a_study(tmp_path, fitted):
    words = ["vendor", "latency_7.4.txt", "bw_7.4.txt", "--cores", "8", "--folder", str(tmp_path)]
    lines = new_model(words, OSU)
    assert lines[-1] == f"{tmp_path}/vendor.yaml; fit: {fitted}/vendor/model-vendor.png"
    fit = pd.read_csv(fitted / "vendor/fit.csv")
    assert len(fit) == 17 and fit["error_percent"].abs().mean() < 1
    assert (fitted / "vendor/model-vendor.svg").stat().st_size > 5000
    (tmp_path / "mine.yaml").write_text(
        "name: mine\ncases: [elbow_segregated-smoke]\ninterconnects: [vendor, gigabit_ethernet]\n"
        "interconnects_folder: .\nprocesses: [1, 2]\n"
    )
    joined = read_asked(tmp_path / "mine.yaml").interconnects
    assert joined["vendor"].cores_per_node == 8 and joined["gigabit_ethernet"].kind == "simulated"
    assert joined["vendor"].simulate["curve"]["file"] == str(tmp_path / "vendor.csv")
    lines = refusal(InputError, new_model, words, OSU)
    assert lines == f"--model: {tmp_path}/vendor.yaml exists already: remove it, or choose another name"


def test_a_stand_in_for_0_bytes_is_no_point_of_the_fit(tmp_path, fitted):
    rows = "".join(f"{size:<20}{2 + size / 5000:>8.2f}\n" for size in (1, 64, 1024, 8192, 65536))
    (tmp_path / "osu.txt").write_text(f"# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n{rows}")
    lines = new_model(["vendor", "osu.txt", "--folder", "."], tmp_path)
    assert any(line.startswith("The model reproduces its 5 points within") for line in lines)
    assert pd.read_csv(fitted / "vendor/fit.csv")["bytes"].tolist() == [1, 64, 1024, 8192, 65536]


def test_a_model_is_written_into_the_folder_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "MODELS", RESULTS / ".models")
    before = sorted(INTERCONNECTS.iterdir())
    *_, line = new_model(["vendor", f"{OSU}/latency_7.4.txt"], tmp_path)
    figure = tmp_path / "results/.models/vendor/model-vendor.png"
    assert line == f"{tmp_path}/vendor.yaml; fit: {figure}"
    assert figure.exists() and (tmp_path / "vendor.csv").exists()
    assert sorted(INTERCONNECTS.iterdir()) == before


def test_a_model_may_predict_an_interconnect_of_the_same_folder(tmp_path):
    shared = (INTERCONNECTS / "shared_memory.yaml").read_text()
    (tmp_path / "site.yaml").write_text(shared.replace("name: shared_memory", "name: site"))
    new_model(["mine", "latency_7.4.txt", "--folder", str(tmp_path), "--predicts", "site"], OSU)
    assert load_interconnect("mine", tmp_path).simulate["predicts"] == "site"


def test_a_model_from_the_curves_of_a_study(tmp_path):
    rows = [f"{size},{10 + size / 100},{2 * size + 0.1},2" for size in (0, 8, 1000, 2000, 4000, 8000)]
    rows = [f"{name},emulated,pingpong,{row}" for name in ("slow", "fast") for row in rows]
    heading = "interconnect,kind,benchmark,bytes,latency_us,bandwidth_MBps,runs"
    (tmp_path / "network.csv").write_text("\n".join([heading, *rows]) + "\n")
    words = ["mine", "network.csv", "--folder", ".", "--title", "Mine", "--interconnect"]
    words = ["--predicts", "shared_memory", *words]
    message = refusal(InputError, new_model, [*words, "medium"], tmp_path)
    assert message == f"--interconnect: no 'medium' in {tmp_path}/network.csv; known: slow, fast"
    new_model([*words, "slow"], tmp_path)
    model = load_interconnect("mine", tmp_path)
    assert model.simulate["one_machine"]
    assert model.title == "Mine" and model.simulate["predicts"] == "shared_memory"
    assert len(pd.read_csv(tmp_path / "mine.csv")) == 6 and "one_sided" not in model.simulate
    slower = ["slower", "network.csv", "--folder", ".", "--interconnect", "slow", "--rate", "50"]
    new_model([*slower, "--predicts", "emulated_gigabit"], tmp_path)
    assert load_interconnect("slower", tmp_path).simulate["one_sided"] == "messages"
    assert pd.read_csv(tmp_path / "slower.csv")["latency_us"].iloc[-1] == pytest.approx(90 + 8000 / 50 - 80)


@pytest.mark.parametrize(("exchange", "advised"), [(6.1, False), (7.4, True)])
def test_a_model_names_its_attestation_and_reports_drift(tmp_path, exchange, advised):
    rows = [
        f"link,emulated,{name},{size},{10 + size / 100},{2 * size + 0.1},2,{probe}"
        for name, probe in (("pingpong", 6.0), ("sendrecv", exchange))
        for size in (0, 8, 1000, 2000, 4000, 8000)
    ]
    heading = "interconnect,kind,benchmark,bytes,latency_us,bandwidth_MBps,runs,probe_latency_us"
    (tmp_path / "network.csv").write_text("\n".join([heading, *rows]) + "\n")
    first_line, *_ = new_model(["mine", "network.csv", "--folder", ".", "--eager", "2000"], tmp_path)
    assert load_interconnect("mine", tmp_path).simulate["probe_us"] == 6.0
    assert ("(pingpong 6.00 µs and sendrecv 7.40 µs): measure again." in first_line) == advised


def test_a_file_of_the_user_is_not_overwritten(tmp_path):
    (tmp_path / "mine.csv").write_text("mine\n")
    message = refusal(
        InputError, new_model, ["mine", str(OSU / "latency_7.4.txt"), "--folder", "."], tmp_path
    )
    assert message == f"--model: {tmp_path}/mine.csv exists already: remove it, or choose another name"
    assert (tmp_path / "mine.csv").read_text() == "mine\n"


def test_a_folder_for_a_model_is_made_where_one_can_be(tmp_path):
    (tmp_path / "file").touch()
    message = refusal(
        InputError, new_model, ["mine", str(OSU / "latency_7.4.txt"), "--folder", "file/models"], tmp_path
    )
    assert message == "--folder: file/models: Not a directory"


def test_a_model_of_the_study_folder_overrides_the_projects(tmp_path):
    new_model(
        ["gigabit_ethernet", "latency_7.4.txt", "--folder", f"{tmp_path}/models", "--title", "Mine"], OSU
    )
    study = (
        "name: mine\ncases: [elbow_segregated-smoke]\ninterconnects: [gigabit_ethernet]\nprocesses: [1, 2]\n"
    )
    (tmp_path / "mine.yaml").write_text(study + "interconnects_folder: models\n")
    assert read_asked(tmp_path / "mine.yaml").interconnects["gigabit_ethernet"].title == "Mine"
    (tmp_path / "mine.yaml").write_text(study + "interconnects_folder: gone\n")
    message = refusal(InputError, read_asked, tmp_path / "mine.yaml")
    assert message.endswith(
        f"interconnects_folder: {tmp_path}/gone: no such folder; ./run-study --interconnects --write makes one"
    )


def test_a_model_from_netpipe_output_needs_its_format(tmp_path):
    words = ["vendor", str(OSU.with_name("netpipe") / "mpi_3.7.out"), "--folder", str(tmp_path)]
    message = refusal(InputError, new_model, words, OSU)
    assert message.startswith(f"--model: {words[1]}: has no heading, and Nodeworth does not guess")
    assert not list(tmp_path.iterdir())
    new_model([*words, "--format", "netpipe", "--inside", words[1]], OSU)
    assert load_interconnect("vendor", tmp_path).simulate["curve"]["benchmark"] == "netpipe"


IMB = """\
#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
# Benchmarking PingPong
# #processes = 2
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.50         0.00
            8         1000         1.52         5.26
         1024         1000         2.10       487.62
        65536          640        16.00      4096.00
      4194304           10       802.00      5229.81
"""
UNIBAND = """\
# Benchmarking Uniband
# #processes = {}
       #bytes #repetitions   Mbytes/sec      Msg/sec
      4194304           10     {}00.00       {}
"""


@pytest.mark.parametrize(("counts", "peak"), [((2, 8), 6100), ((8, 2), 6100), ((8,), None)])
def test_the_rate_of_a_link_is_that_of_one_pair_of_processes(tmp_path, counts, peak):
    rows = "".join(UNIBAND.format(count, *{2: (61, 1454.4), 8: (244, 5817.4)}[count]) for count in counts)
    (tmp_path / "imb.txt").write_text(f"{IMB}{rows}# All processes entering MPI_Finalize\n")
    lines = new_model(["vendor", "imb.txt", "--folder", "."], tmp_path)
    assert load_interconnect("vendor", tmp_path).simulate["curve"].get("peak_MBps") == peak
    assert (
        "Not used for the link: imb_uniband of 8 processes, because several pairs of processes ran." in lines
    )


WAITING = "# ( 6 additional processes waiting in MPI_Barrier)\n"


def test_a_pair_of_imb_next_to_waiting_processes_shows_no_link(tmp_path):
    pair = UNIBAND.format(2, 88, 2098.1).replace("= 2\n", f"= 2\n{WAITING}")
    (tmp_path / "imb.txt").write_text(f"{IMB}{pair}# All processes entering MPI_Finalize\n")
    lines = new_model(["vendor", "imb.txt", "--folder", "."], tmp_path)
    assert "peak_MBps" not in load_interconnect("vendor", tmp_path).simulate["curve"]
    assert (
        sum(line.startswith("Not used: tables of imb_uniband with waiting processes") for line in lines) == 1
    )
    (tmp_path / "all.txt").write_text(IMB.replace("= 2\n", f"= 2\n{WAITING}"))
    message = refusal(InputError, new_model, ["other", "all.txt", "--folder", "."], tmp_path)
    assert "on two nodes is among the curves. Not used: tables of imb_pingpong with waiting" in message


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["vendor"], "--model: the following arguments are required: FILE"),
        (["Vendor", "latency_7.4.txt"], "--model: 'Vendor' must be a lowercase letter, then"),
        (["vendor", "gone.txt"], f"--model: {OSU}/gone.txt: there is no such file"),
        (["vendor", "bw_7.4.txt"], "no ping-pong (osu_latency, imb_pingpong, netpipe, pingpong) between two"),
        (["vendor", "latency_7.4.txt", "--cores", "0"], "--cores: '0' is not a whole number from 1 on"),
        (["vendor", "latency_7.4.txt", "--cores", "2.5"], "--cores: '2.5' is not a whole number from 1 on"),
        (["vendor", "latency_7.4.txt", "--eager", "-1"], "--eager: '-1' is not a whole number from 0 on"),
        (
            ["vendor", "latency_7.4.txt", "--rate", "0"],
            "--rate: '0' is not a number from 0.001 on (10^6 bytes/s)",
        ),
        (
            ["vendor", "latency_7.4.txt", "--rate", "nan"],
            "--rate: 'nan' is not a number from 0.001 on (10^6 bytes/s)",
        ),
        (["vendor", "latency_7.4.txt", "--eager", "9000000"], "--eager: 9000000: must be below the largest"),
        (
            ["vendor", "latency_7.4.txt", "latency_5.3.txt"],
            f"--model: osu_latency is in {OSU}/latency_7.4.txt and",
        ),
        (
            ["vendor", "latency_7.4.txt", "--predicts", "myrinet_mx"],
            "--predicts: no interconnect 'myrinet_mx'",
        ),
        (["vendor", "latency_7.4.txt", "--predicts", "infiniband"], "--predicts: infiniband: is simulated"),
        (["vendor", "/dev/null"], "--model: /dev/null: is empty"),
        (
            ["vendor", str(ROOT / "analysis/published/pmb.csv")],
            f"--model: {ROOT}/analysis/published/pmb.csv: has",
        ),
        (
            ["vendor", "../perftest/send_bw_lat_rc.txt"],
            f"--model: {OSU}/../perftest/send_bw_lat_rc.txt: holds tests of a transport below MPI, which make no",
        ),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(tmp_path, words, line):
    assert refusal(InputError, new_model, [*words, "--folder", str(tmp_path)], OSU).startswith(line)
    assert not list(tmp_path.iterdir())


STUDY = "name: mine\ncases: [elbow_segregated-smoke]\ninterconnects: [vendor, gigabit_ethernet]\nprocesses: [1, 4]\n"


@pytest.mark.parametrize(
    ("keys", "cores"),
    [
        ("", 2),  # as gigabit_ethernet of the study
        ("processes_per_node: [1, 4]\nthreads: [2]\n", 8),
        ("cluster: site.yaml\n", 48),
    ],
)
def test_the_node_size_comes_from_a_study(tmp_path, monkeypatch, keys, cores):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site.yaml").write_text("cores_per_node: 48\n")
    (tmp_path / "mine.yaml").write_text(STUDY + keys)
    study = ["--study", str(tmp_path / "mine.yaml")]
    lines = new_model(["vendor", "latency_7.4.txt", "--folder", str(tmp_path), *study], OSU)
    assert load_interconnect("vendor", tmp_path).cores_per_node == cores
    assert not any("assumed to have 1 core" in line for line in lines)


def test_a_study_without_one_node_size_is_refused(tmp_path):
    (tmp_path / "mine.yaml").write_text(STUDY.replace("gigabit_ethernet", "gigabit_ethernet, slingshot_11"))
    words = ["vendor", "latency_7.4.txt", "--folder", str(tmp_path), "--study", str(tmp_path / "mine.yaml")]
    message = refusal(InputError, new_model, words, OSU)
    assert "states no single number of cores per node (gigabit_ethernet: 2, slingshot_11: 288)" in message
    assert refusal(InputError, new_model, [*words, "--cores", "4"], OSU) == (
        "--study: does not belong here, since --cores is given"
    )
    assert not (tmp_path / "vendor.yaml").exists()
