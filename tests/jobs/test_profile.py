"""A profile's ``config`` survives ``--config``, or its loss is refused."""

import pytest
from refused import refusal
from snakemake.cli import parse_config

from workflows import command
from workflows.command import main
from workflows.errors import InputError
from workflows.jobs.profile import check_profiles, missing_config

SITE = {"cluster": "cluster/site.yaml"}


@pytest.mark.parametrize("config", [[], ["--config", "blocks=3"], ["--config", "blocks=3", "seed=2"]])
def test_the_command_adds_what_config_replaced(monkeypatch, config):
    started = []
    monkeypatch.setattr(command, "args_to_api", lambda parsed, _: started.append(parsed))
    with pytest.raises(SystemExit):
        main(["smoke", "--profile", "cluster", *config])
    assert parse_config(started[0].config).items() >= SITE.items()


def test_a_stated_key_is_kept():
    assert missing_config(["cluster"], {"cluster": "mine.yaml"}) == {}
    assert missing_config(["cluster"], {"blocks": 3}) == SITE


@pytest.mark.parametrize("words", [["--profile", "cluster"], ["--profile=cluster"]])
def test_plain_snakemake_names_the_words_to_add(words):
    line = refusal(InputError, check_profiles, [*words, "--config", "blocks=3"], {"blocks": 3})
    assert line == (
        "--config: it replaces the config of the profile; add cluster=cluster/site.yaml after --config"
    )
    check_profiles(words, SITE)
    check_profiles(["-n"], {})
