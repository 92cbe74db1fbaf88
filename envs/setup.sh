# Sourced by run-study and run-tests: makes sure that what they need is there.
#   need_programs [LIST...]   programs named in envs/programs.txt and these, from the Debian packages beside them
#   need_python               .venv with the locked Python environment
# Says what it is about to do with root's rights before it does it. Does nothing the second time.

# Debian keeps tc and ip out of a normal user's PATH.
PATH=$PATH:/usr/sbin:/sbin

say() { printf '%s\n' "$*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

may_be_root() {
    [ "$(id -u)" = 0 ] && return
    command -v sudo >/dev/null || return
    sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }
}

# install_debian PURPOSE PACKAGE...: false where that is not possible, having said what to install.
install_debian() {
    local purpose=$1
    shift
    if ! command -v apt-get >/dev/null; then
        say "Missing $purpose. This is not Debian: install the equivalent of: $*"
        return 1
    fi
    if ! may_be_root; then
        say "Missing $purpose. Without root, ask for: sudo apt-get install --no-install-recommends $*"
        return 1
    fi
    say "Installing $purpose as root: apt-get install --no-install-recommends $*"
    as_root apt-get -o DPkg::Lock::Timeout=120 update -qq >&2 &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y -qq --no-install-recommends "$@" \
            </dev/null >&2
}

# A program that cannot be had is no failure here: the study leaves out what needs it and says so.
need_programs() {
    local program package rest missing=()
    while read -r program package rest; do
        case $program in '' | '#'*) continue ;; esac
        command -v "$program" >/dev/null || missing+=("$package")
    done < <(cat envs/programs.txt "$@")
    [ ${#missing[@]} = 0 ] || install_debian "the applications and tools" $(printf '%s\n' "${missing[@]}" | sort -u) ||
        say "Going on with what is there; whatever needs the rest is left out and named in the report."
}

need_python() {
    local python wanted
    wanted=$(cat uv.lock pyproject.toml | sha256sum)
    [ "$(cat .venv/locked 2>/dev/null)" = "$wanted" ] && return
    if [ ! -x .venv/bin/python ]; then
        for python in python3.11 python3.12 python3.13 python3; do
            command -v $python >/dev/null && break
        done
        "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null || {
            say "Nodeworth needs Python 3.11, 3.12 or 3.13; install one of them."
            return 1
        }
        "$python" -c 'import ensurepip' 2>/dev/null || install_debian "Python's venv" python3-venv || return 1
        say "Making the Python environment in .venv"
        rm -rf .venv && "$python" -m venv .venv || return 1
    fi
    if [ ! -x .venv/bin/uv ]; then
        .venv/bin/python -m ensurepip -q >/dev/null 2>&1
        .venv/bin/python -m pip install -q --disable-pip-version-check uv >&2 || {
            say "Could not install uv into .venv: is the Python package index reachable?"
            return 1
        }
    fi
    # Bytecode, also where PYTHONDONTWRITEBYTECODE is set: without it every Snakemake takes 4 s of CPU to start.
    .venv/bin/uv sync --quiet --locked --compile-bytecode >&2 || {
        say "Could not install the Python environment of uv.lock into .venv."
        return 1
    }
    printf '%s\n' "$wanted" >.venv/locked
}
