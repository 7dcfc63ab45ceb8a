"""External repositories made from Debian packages, without a network."""

_CC_TOOLCHAIN = '["@bazel_tools//tools/cpp:toolchain_type"]'

def _offline_rules_cc_impl(rctx):
    # rules_cc 0.0.4 is newer than Bazel 4.2: use_cpp_toolchain is unknown there.
    copied = rctx.execute(["cp", "-RL", "/usr/share/bazel/rules/cc/.", "."])
    if copied.return_code:
        fail(copied.stderr + " (install bazel-rules-cc; tools/setup.sh does)")
    for name in ["cc_flags_supplier", "compiler_flag"]:
        path = "cc/private/rules_impl/%s.bzl" % name
        text = rctx.read(path)
        text = text.replace(', "use_cpp_toolchain"', "")
        rctx.file(path, text.replace("use_cpp_toolchain()", _CC_TOOLCHAIN))

offline_rules_cc = repository_rule(
    implementation = _offline_rules_cc_impl,
    local = True,
)

def _unless_tsan(otherwise, under_tsan):
    return """select({
        "@weft//third_party/tsan:enabled": %s,
        "//conditions:default": %s,
    })""" % (repr(under_tsan), repr(otherwise))

def _link_archives(names):
    # In a group: they may need each other in any order.
    return (["-Wl,--start-group"] + ["-l:lib%s.a" % n for n in names] +
            ["-Wl,--end-group"])

def _linkopts(rctx):
    names = rctx.attr.archives
    if not names:
        return repr(rctx.attr.linkopts)

    # What stands in for locks under ThreadSanitizer knows them in Debian's
    # shared libraries.
    return "%s + %s" % (
        _unless_tsan(_link_archives(names), ["-l" + n for n in names]),
        repr(rctx.attr.linkopts),
    )

def _system_library_impl(rctx):
    # One repository per library, holding only its own headers. A mirror of all
    # of /usr/include would put -iquote /usr/include on the command line, where
    # a quoted "limits.h" inside a system header finds the wrong file.
    for header in rctx.attr.paths:
        path = rctx.path("/usr/include/" + header)
        if not path.exists:
            fail("/usr/include/%s is missing: run tools/setup.sh (package %s)" %
                 (header, rctx.attr.apt))
        if rctx.attr.edits:
            rctx.execute(["mkdir", "-p", "include"])
            rctx.execute(["cp", "-RL", str(path), "include/" + header])
        else:
            rctx.symlink(path, "include/" + header)
    for header, (old, new) in rctx.attr.edits.items():
        text = rctx.read("include/" + header)
        if old not in text:
            fail("/usr/include/%s has changed: no '%s' in it" % (header, old))
        rctx.file("include/" + header, text.replace(old, new))
    rctx.file("BUILD", """
cc_library(
    name = "%s",
    hdrs = glob(["include/**"]),
    includes = %s,
    defines = %s,
    linkopts = %s,
    deps = %s + %s,
    visibility = ["//visibility:public"],
)
""" % (
        rctx.name,
        repr(["include"] + ["include/" + i for i in rctx.attr.incs]),
        repr(rctx.attr.defs),
        _linkopts(rctx),
        repr(rctx.attr.lib_deps),
        _unless_tsan([], rctx.attr.tsan_deps),
    ))

_system_library = repository_rule(
    implementation = _system_library_impl,
    local = True,
    attrs = {
        "paths": attr.string_list(),
        "apt": attr.string(),
        "incs": attr.string_list(),
        "defs": attr.string_list(),
        "archives": attr.string_list(),  # linked into each program
        "linkopts": attr.string_list(),
        "lib_deps": attr.string_list(),
        "tsan_deps": attr.string_list(),  # only under --config=tsan
        "edits": attr.string_list_dict(),  # header: [old text, new text]
    },
)

_ABSL_LIBRARIES = [
    "flags_parse",
    "flags_usage",
    "flags_internal",
    "flags_reflection",
    "flags_marshalling",
    "flags_commandlineflag",
    "flags_config",
    "flags_commandlineflag_internal",
    "flags_private_handle_accessor",
    "flags_program_name",
    "flags_usage_internal",
    "statusor",
    "status",
    "cord",
    "cord_internal",
    "cordz_info",
    "cordz_handle",
    "cordz_functions",
    "bad_optional_access",
    "bad_variant_access",
    "int128",
    "civil_time",
    "synchronization",
    "time",
    "time_zone",
    "str_format_internal",
    "strings",
    "strings_internal",
    "raw_hash_set",
    "hash",
    "city",
    "low_level_hash",
    "throw_delegate",
    "raw_logging_internal",
    "base",
    "spinlock_wait",
    "debugging_internal",
    "demangle_internal",
    "exponential_biased",
    "graphcycles_internal",
    "log_severity",
    "malloc_internal",
    "stacktrace",
    "strerror",
    "symbolize",
]

def system_repos():
    """Declares @absl, @eigen, @flatbuffers, @gtest, @protobuf, @spdlog, ..."""
    _system_library(
        name = "absl",
        apt = "libabsl-dev",
        paths = ["absl"],
        archives = ["absl_" + name for name in _ABSL_LIBRARIES],
        linkopts = ["-lpthread"],
        tsan_deps = ["@weft//third_party/tsan:absl_mutex"],
    )
    _system_library(
        name = "benchmark",
        apt = "libbenchmark-dev",
        paths = ["benchmark"],
        linkopts = ["-lbenchmark", "-lpthread"],
    )
    _system_library(
        name = "curl",
        apt = "libcurl4-openssl-dev",
        paths = ["x86_64-linux-gnu/curl"],
        incs = ["x86_64-linux-gnu"],
        linkopts = ["-lcurl"],
    )
    # Headers only: kernels look for the library when they run.
    _system_library(
        name = "dnnl",
        apt = "libdnnl-dev",
        paths = ["oneapi/dnnl"],
    )
    _system_library(
        name = "eigen",
        apt = "libeigen3-dev",
        paths = ["eigen3"],
        incs = ["eigen3"],
    )
    _system_library(
        name = "flatbuffers",
        apt = "libflatbuffers-dev",
        paths = ["flatbuffers"],
        archives = ["flatbuffers"],
    )
    _system_library(
        name = "gtest",
        apt = "libgmock-dev",
        paths = ["gtest", "gmock"],
        linkopts = ["-lgtest", "-lgmock", "-lpthread"],
    )
    _system_library(
        name = "gtest_main",
        apt = "libgmock-dev",
        paths = ["gtest"],
        linkopts = ["-lgmock_main", "-lgtest", "-lgmock", "-lpthread"],
        lib_deps = ["@gtest"],
    )
    _system_library(
        name = "isal",
        apt = "libisal-dev",
        paths = ["isa-l/crc.h"],
        linkopts = ["-lisal"],
    )
    _system_library(
        name = "json",
        apt = "nlohmann-json3-dev",
        paths = ["nlohmann"],
    )
    _system_library(
        name = "leveldb",
        apt = "libleveldb-dev",
        paths = ["leveldb"],
        linkopts = ["-lleveldb"],
    )
    _system_library(
        name = "microhttpd",
        apt = "libmicrohttpd-dev",
        paths = ["microhttpd.h"],
        linkopts = ["-lmicrohttpd"],
    )
    _system_library(
        name = "openssl",
        apt = "libssl-dev",
        paths = ["openssl", "x86_64-linux-gnu/openssl"],
        incs = ["x86_64-linux-gnu"],
        linkopts = ["-lcrypto"],
    )
    _system_library(
        name = "png",
        apt = "libpng-dev",
        paths = ["png.h", "pngconf.h", "pnglibconf.h"],
        linkopts = ["-lpng"],
    )
    _system_library(
        name = "prometheus",
        apt = "prometheus-cpp-dev",
        paths = ["prometheus"],
        linkopts = ["-lprometheus-cpp-core"],
    )
    _system_library(
        name = "protobuf",
        apt = "libprotobuf-dev",
        paths = ["google"],
        archives = ["protobuf"],
        linkopts = ["-lpthread"],
        # A class gets two more fields under ThreadSanitizer, but Debian's
        # library, compiled without it, knows nothing of them.
        edits = {
            "google/protobuf/map_field.h": [
                "#if defined(__SANITIZE_THREAD__) || defined(THREAD_SANITIZER)",
                "#if 0",
            ],
        },
    )
    _system_library(
        name = "pugixml",
        apt = "libpugixml-dev",
        paths = ["pugixml.hpp", "pugiconfig.hpp"],
        linkopts = ["-lpugixml"],
    )
    _system_library(
        name = "re2",
        apt = "libre2-dev",
        paths = ["re2"],
        archives = ["re2"],
    )
    _system_library(
        name = "snappy",
        apt = "libsnappy-dev",
        paths = ["snappy.h", "snappy-sinksource.h", "snappy-stubs-public.h"],
        linkopts = ["-lsnappy"],
    )
    _system_library(
        name = "spdlog",
        apt = "libspdlog-dev",
        paths = ["spdlog", "fmt"],
        defs = ["SPDLOG_SHARED_LIB", "SPDLOG_COMPILED_LIB", "SPDLOG_FMT_EXTERNAL"],
        linkopts = ["-lspdlog", "-lfmt"],
    )
    _system_library(
        name = "zlib",
        apt = "zlib1g-dev",
        paths = ["zlib.h", "zconf.h"],
        linkopts = ["-lz"],
    )
    _system_library(
        name = "zmq",
        apt = "libzmq3-dev",
        paths = ["zmq.h"],
        linkopts = ["-lzmq"],
        tsan_deps = ["@weft//third_party/tsan:zmq"],
    )
