"""What Snakemake works out anew for every job, though it is the same for all: worked out once.

Snakemake 9 asks Python for the parameters of each function of a rule, several times a job; it reads the
script of every job to see that it is there; and each time it takes the path of a script and of an
environment apart. The answers stay what they are.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import snakemake.api  # noqa: F401 - the rest of it can only be imported after this
from snakemake import common, rules, sourcecache
from snakemake.dag import ScriptProcessor


def expect_many_jobs(workflow: Any) -> None:
    """Have Snakemake, whose `workflow` it is, make thousands of jobs quickly."""
    gc.set_threshold(100_000)  # jobs stay in memory; to look for garbage in them takes a sixth of the time
    work_out_once()
    workflow.register_resource("_cores", 1)  # to prepare a case is a job of one core, wherever it runs


def work_out_once() -> None:
    """Keep, from now on, what Snakemake finds out about functions, scripts and paths.

    No rule may have wildcards in the path of its script: it is looked at for one job of each rule.
    """
    common.get_function_params = rules.get_function_params = _kept(common.get_function_params)
    sourcecache.parse_uri = functools.cache(sourcecache.parse_uri)
    ScriptProcessor.process_job = _of_one_job(ScriptProcessor.process_job)


def _kept(parameters: Callable[[Callable[..., Any]], Any]) -> Callable[[Callable[..., Any]], Any]:
    """Keep the parameters of functions, and those of methods by their function: objects come and go."""
    of_functions, of_methods = WeakKeyDictionary(), WeakKeyDictionary()

    @functools.wraps(parameters)
    def get_function_params(function: Callable[..., Any]) -> Any:
        known, key = of_functions, function
        if hasattr(function, "__func__"):
            known, key = of_methods, function.__func__
        if key not in known:
            known[key] = parameters(function)
        return known[key]

    return get_function_params


def _of_one_job(check: Callable[[ScriptProcessor, Any], None]) -> Callable[[ScriptProcessor, Any], None]:
    checked = set()

    @functools.wraps(check)
    def process_job(self: ScriptProcessor, job: Any) -> None:
        if job.rule not in checked:
            check(self, job)
            checked.add(job.rule)

    return process_job
