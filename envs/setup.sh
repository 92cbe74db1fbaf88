# run-study and run-tests source this file at the project's root. It installs what they need.
#   set_up [LIST...]   installs the locked Python environment into .venv, and the programs that envs/programs.txt
#                      and the LISTs name
# It prints each command before it runs it as root. A second call installs nothing.

# Debian keeps tc and ip out of a normal user's PATH.
PATH=$PATH:/usr/sbin:/sbin

# Keep bytecode: without it, each process compiles its imports (Snakemake 4 s of CPU, each rule and test 1 s).
unset PYTHONDONTWRITEBYTECODE

say() { printf '%s\n' "$*" >&2; }

# Snakemake passes the interpreter's path to a shell without quotes, and colons separate the folders of PATH.
case $PWD in
*[[:space:]\"\'\`\$\&\;\(\)\<\>\|\*\?\[\]\{\}\#\!\\:]*)
    say "Nodeworth cannot run in $PWD: move it to a path without blanks, colons, quotes and other special characters of the shell."
    return 1
    ;;
esac

# If HOME is not writable (for example, for a service), keep caches in the project.
cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
if [ -n "$cache" ] && ! { mkdir -p "$cache" && [ -w "$cache" ]; } 2>/dev/null; then
    export XDG_CACHE_HOME=$PWD/.cache MPLCONFIGDIR=$PWD/.cache/matplotlib
fi
[ ! -w . ] || mkdir -p .cache

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

may_be_root() {
    [ "$(id -u)" = 0 ] && return
    command -v sudo >/dev/null || return
    sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }
}

is_debian() { command -v apt-get >/dev/null; }

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 "$@" </dev/null >.cache/apt.last 2>&1
    local status=$?
    cat .cache/apt.last >>.cache/apt.log
    return $status
}

apt_error() { grep -m1 '^E: ' .cache/apt.last || tail -n 1 .cache/apt.last; }

# install_debian PACKAGE...: install the packages; name each package that apt-get cannot install.
install_debian() {
    local package failed=no
    if ! is_debian; then
        say "This is not Debian. Install the equivalent of these Debian packages: $*"
        return
    fi
    if ! may_be_root; then
        say "These packages are missing. Ask an administrator for: sudo apt-get install --no-install-recommends $*"
        return
    fi
    say "Installing as root: apt-get install --no-install-recommends $*"
    : >.cache/apt.log
    apt_get update || { say "apt-get update: $(apt_error)" && failed=yes; }
    if ! apt_get install -y --no-install-recommends "$@"; then
        for package; do
            apt_get install -y --no-install-recommends "$package" && continue
            say "$package cannot be installed: $(apt_error)"
            failed=yes
        done
    fi
    [ $failed = no ] || say "The messages of apt-get are in .cache/apt.log."
}

# Debian appends the name of the MPI library to its programs. Other systems usually have a single library.
if is_debian; then suffix=; else suffix=.openmpi; fi

# compiles COMPILER: succeed if the compiler builds an MPI program. Repeat the check after a change of packages.
compiles() {
    local compiler seen=.cache/compiles-$1
    compiler=$(command -v "$1") || return
    [ "$seen" -nt "$compiler" ] && [ "$seen" -nt /var/lib/dpkg/status ] && return
    printf '#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n' |
        "$compiler" -x c - -o "$seen.new" 2>"$seen.log" && mv "$seen.new" "$seen"
}

# missing_packages LIST...: print the Debian packages of the listed programs that are missing.
missing_packages() {
    local program package rest
    [ -x .venv/bin/python ] || missing_python
    while read -r program package rest; do
        case $program in
        '' | '#'*) continue ;;
        *:mpi.h) program=${program%:*} && compiles "${program%"$suffix"}" ;;
        *) command -v "${program%"$suffix"}" >/dev/null ;;
        esac || printf '%s\n' "$package"
    done < <(cat "$@")
}

# Prefer the system's Python: it is compiled with optimisations, which a self-built Python often lacks.
system_python=/usr/bin/python3

find_python() {
    local python
    for python in $system_python python3.11 python3.12 python3.13 python3; do
        "$python" -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null &&
            command -v "$python" && return
    done
    return 1
}

missing_python() {
    find_python >/dev/null || printf '%s\n' python3-venv
}

# A missing program is no failure: a study leaves out the runs that need it, and names them.
set_up() {
    local missing compiler
    if [ ! -w . ]; then # another user owns this installation
        is_locked || say "Nodeworth is not set up. A user who may write to $PWD must first run ./run-study laptop --dry-run there."
        is_locked
        return
    fi
    missing=$(missing_packages envs/programs.txt "$@" | sort -u)
    if [ -n "$missing" ]; then
        install_debian $missing
        [ -x .venv/bin/python ] || [ -z "$(missing_python)" ] || return
        for compiler in $(cat envs/programs.txt "$@" | sed -n 's/:mpi\.h .*//p'); do
            compiler=${compiler%"$suffix"}
            command -v "$compiler" >/dev/null || continue
            compiles "$compiler" || say "$compiler cannot build an MPI program: $(grep -m1 -i error ".cache/compiles-$compiler.log")"
        done
        [ -z "$(missing_packages envs/programs.txt "$@")" ] ||
            say "Some programs are missing. Nodeworth leaves out the runs that need them, and the report names these runs."
    fi
    need_python
}

wanted_python() { cat uv.lock pyproject.toml | sha256sum; }

# is_locked: succeed if .venv has the packages of uv.lock.
is_locked() { [ "$(cat .venv/locked 2>/dev/null)" = "$(wanted_python)" ]; }

need_python() {
    local python
    is_locked && return
    # Ctrl-C may have left an environment without pip.
    if [ ! -x .venv/bin/uv ] && ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        python=$(find_python) || {
            say "Nodeworth needs Python 3.11, 3.12 or 3.13 with its module venv; install one of them."
            return 1
        }
        say "Making the Python environment in .venv"
        rm -rf .venv && "$python" -m venv .venv 2>.cache/venv.log || {
            say "Could not make .venv: $(tail -n 1 .cache/venv.log)"
            return 1
        }
    fi
    if [ ! -x .venv/bin/uv ]; then
        .venv/bin/python -m pip install -q --disable-pip-version-check uv >.cache/pip.log 2>&1 || {
            say "Could not install uv into .venv: $(tail -n 1 .cache/pip.log)"
            say "Is the Python package index reachable?"
            return 1
        }
    fi
    .venv/bin/uv sync --quiet --locked --compile-bytecode >&2 || {
        say "Could not install the Python environment of uv.lock into .venv."
        return 1
    }
    wanted_python >.venv/locked
}
