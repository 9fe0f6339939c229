#!/bin/bash
# Installs an operator package of the stand-in: installer.sh PACKAGE VENDOR ARCHITECTURE GLIBC [--install-path=FOLDER]
# [--force]. What it does is what documentation pages say; docs/npu.md names them.
package=$1 vendor=$2 architecture=$3 glibc=$4
shift 4
path="" force=""
for word; do
    case $word in
        --install-path=*) path=${word#*=} ;;
        --force) force=1 ;;
        *) echo "[ops_custom] [ERROR] unknown option $word"; exit 1 ;;
    esac
done

fail() {
    echo "[ops_custom] [ERROR] $1"
    exit 1
}

# Libraries have to be for this machine and to load, unless the user says otherwise.
if [ -z "$force" ]; then
    [ "$architecture" = "$(uname -m)" ] || fail "the package is built for $architecture, this is $(uname -m)"
    here=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)
    newest=$(printf '%s\n' "$glibc" "${here:-$glibc}" | sort -V | tail -1)
    [ "$newest" = "${here:-$glibc}" ] || fail "the package asks for glibc $glibc, this is $here"
    tiling="$package/op_impl/ai_core/tbe/op_tiling/liboptiling.so"
    if [ -f "$tiling" ]; then
        python3 -c 'import ctypes, os, sys; ctypes.CDLL(sys.argv[1], os.RTLD_NOW)' "$tiling" 2>&1 | tail -1
        [ "${PIPESTATUS[0]}" -eq 0 ] || fail "cannot load $(basename "$tiling")"
    fi
fi

if [ -n "$path" ]; then
    case $path in /*) ;; *) fail "--install-path is no absolute path: $path" ;; esac
    to=$path
    inside="$path/vendors/$vendor"
    [ "$ASCEND_STANDIN_LAYOUT" = flat ] && inside="$path/$vendor"
else
    [ -n "$ASCEND_OPP_PATH" ] || fail "ASCEND_OPP_PATH is not set"
    to=$ASCEND_OPP_PATH
    inside="$to/vendors/$vendor"
    config="$to/vendors/config.ini"
    if [ -e "$config" ]; then
        others=$(sed -n 's/^load_priority=\(..*\)$/\1/p' "$config")
        [ -n "$others" ] || fail "no load_priority in $config"
    fi
fi
if [ -e "$to" ] && { [ ! -d "$to" ] || [ ! -w "$to" ]; }; then
    echo "[ops_custom] [WARNING] The directory $to does not have sufficient permissions."
fi

# Every part of a package of the same vendor that is there is asked about.
for part in framework op_api op_impl op_proto; do
    echo "[ops_custom] upgrade $part"
    if [ -n "$(ls "$inside/$part" 2>/dev/null)" ]; then
        echo "[INFO]: has old version in $inside/$part:"
        echo "- Overlay Installation, please enter:[o]"
        echo "- Replace directory installation, please enter:[r]"
        echo "- Do not install, please enter:[n]"
        while read -r answer || fail "nobody answered"; do
            case $answer in
                o) break ;;
                r) rm -rf "${inside:?}/$part"; break ;;
                n) exit 0 ;;
            esac
        done
    fi
    mkdir -p "$inside/$part" 2>/dev/null || fail "create $inside/$part failed"
    cp -r "$package/$part/." "$inside/$part/" || fail "copy $part failed"
done
cp "$package/version.info" "$inside/version.info"

if [ -n "$path" ]; then
    mkdir -p "$inside/bin"
    cat >"$inside/bin/set_env.bash" <<END
export ASCEND_CUSTOM_OPP_PATH=$inside:\$ASCEND_CUSTOM_OPP_PATH
export LD_LIBRARY_PATH=$inside/op_api/lib/:\$LD_LIBRARY_PATH
END
else
    others=$(printf '%s' "$others" | tr ',' '\n' | grep -vx "$vendor" | paste -sd, -)
    echo "load_priority=$vendor${others:+,$others}" >"$config" && chmod 640 "$config"
fi
echo "SUCCESS"
