"""The rules that all packages of Weft use."""

load("//bazel:archives.bzl", "library_archives")
load("//bazel:gxx_objects.bzl", "gxx_objects")
load("//bazel:precompiled.bzl", "precompiled_copts", "precompiled_deps")

# The visibility of targets for other packages; by default, targets are private.
PUBLIC = ["//visibility:public"]

def within_module():
    """The visibility of what a module's folders share, and nobody else uses."""
    return ["//%s:__subpackages__" % "/".join(
        native.package_name().split("/")[:2],
    )]

# Instruction sets for which kernels are compiled; the tag is their namespace.
INSTRUCTION_SETS = {
    "v1": "x86-64",
    "v3": "x86-64-v3",
    "v4": "x86-64-v4",
}

# The set that every processor has.
_BASELINE = "v1"

# With more sources, most units would take over ten seconds, and a core would be
# idle. A library of long sources sets a smaller number (sources_a_unit).
_SOURCES_A_UNIT = 5

# Optimized code is usually built from scratch, and each unit optimizes the code
# in headers again; units therefore have four times as many sources.
_OPTIMIZED_FACTOR = 4

# Most sources of these include libs/api/weft.h.
_PROGRAMS = ["benchmarks", "examples", "integration_tests"]

# Modules of layers 0 to 2, and dependencies of
# //bazel:precompiled_library_of_core: their precompiled header has no header of
# Weft.
_LOW_MODULES = [
    "libs/base",
    "libs/bus",
    "libs/checkpoint",
    "libs/cluster",
    "libs/device",
    "libs/fs",
    "libs/graph",
    "libs/metrics",
    "libs/object_store",
    "libs/rendezvous",
    "libs/summary",
    "libs/tensor",
    "libs/trace",
]

# Tests spend half of their time in these modules. -O1 takes clang nearly twice
# as long as no optimization, and their code runs two to three times as fast.
_OPTIMIZED_IN_TESTS = [
    "libs/base",
    "libs/bus",
    "libs/executor",
    "libs/graph",
    "libs/master",
    "libs/ops",
    "libs/partition",
    "libs/passes",
    "libs/placement",
    "libs/protocol",
    "libs/rendezvous",
    "libs/resource",
    "libs/runtime",
    "libs/session",
    "libs/tensor",
]

def _module_optimization():
    """Returns additional options for the libraries of this package."""
    module = "/".join(native.package_name().split("/")[:2])
    if module not in _OPTIMIZED_IN_TESTS:
        return []
    return select({
        "//bazel:fastbuild_by_clang": ["-O1"],
        "//conditions:default": [],
    })

def _which_precompiled():
    """Returns the suffix of the precompiled headers of this package."""
    folders = native.package_name().split("/")
    if folders[0] in _PROGRAMS:
        return "_of_program"
    if folders[:2] == ["libs", "kernels"] and len(folders) > 2:
        return "_of_kernel"
    if folders[0] in ["libs", "services", "tools"]:
        low = "/".join(folders[:2]) in _LOW_MODULES
        return "" if low else "_of_core"
    return ""

def _precompiled(kwargs, header):
    """Adds the precompiled header //bazel:HEADER to a C++ target."""
    header += _which_precompiled()
    kwargs["deps"] = kwargs.get("deps", []) + precompiled_deps(header)
    kwargs["copts"] = precompiled_copts(header) + kwargs.get("copts", [])

def _units(name, srcs, most, kind = "unit"):
    """Writes sources that include `most` of srcs each; returns their names."""
    units = []
    for first in range(0, len(srcs), most):
        unit = "%s_%s_%d.cc" % (name, kind, len(units) + 1)
        lines = [
            '#include "%s/%s"' % (native.package_name(), src)
            for src in srcs[first:first + most]
        ]
        native.genrule(
            name = unit[:-len(".cc")],
            outs = [unit],
            cmd = "printf '%s\n' " + "".join([
                " '%s'" % line
                for line in lines
            ]) + " > $@",
        )
        units.append(unit)
    return units

def _compile_together(name, kwargs, most):
    """Compiles the sources in units of several sources.

    A unit parses included headers once, and instantiates templates once. Its
    sources share their anonymous namespaces.
    """
    if type(kwargs["srcs"]) != "list":  # A select().
        return
    sources = [src for src in kwargs["srcs"] if src.endswith(".cc")]
    if len(sources) < 2:
        return
    if [src for src in sources if ":" in src]:
        fail("%s: a unit includes files by their path, not by a label" % name)
    headers = [src for src in kwargs["srcs"] if src not in sources]
    kwargs["srcs"] = headers + select({
        "//bazel:separate_units": sources,
        "//bazel:optimized_separate_units": sources,
        "//bazel:optimized": _units(
            name,
            sources,
            most * _OPTIMIZED_FACTOR,
            "large_unit",
        ),
        "//conditions:default": _units(name, sources, most),
    })
    kwargs["textual_hdrs"] = kwargs.get("textual_hdrs", []) + sources
    # g++ treats the sources as headers, in which it warns about such types.
    kwargs["copts"] = kwargs.get("copts", []) + ["-Wno-subobject-linkage"]

def weft_library(name, sources_a_unit = _SOURCES_A_UNIT, **kwargs):
    """A library of one noun, for its own package unless it is PUBLIC.

    tools/layers checks which modules may use a public library. Sources are
    compiled in units of sources_a_unit; with --define=units=separate, one by
    one.
    """
    # Programs are linked statically, so no shared object is needed.
    kwargs.setdefault("linkstatic", True)
    if kwargs.get("srcs"):
        _compile_together(name, kwargs, sources_a_unit)
        _precompiled(kwargs, "precompiled_library")
        kwargs["copts"] = kwargs["copts"] + _module_optimization()
    native.cc_library(name = name, **kwargs)

# Marks the tests whose cases are the module's as well, and names their sources.
_CASES = "cases_of_module"
_SOURCE = "source="

# A test with other attributes runs in a separate process.
_MERGEABLE = ["srcs", "deps", "data"]

# A file of cases spends most of its compilation on headers and templates of
# GoogleTest: three files in a unit take as long as one and a half.
_TESTS_A_UNIT = 3

def _what_cases_use_impl(ctx):
    runfiles = ctx.runfiles(ctx.files.data)
    for target in ctx.attr.deps + ctx.attr.data:
        runfiles = runfiles.merge(target[DefaultInfo].default_runfiles)
    return [
        cc_common.merge_cc_infos(
            cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
        ),
        DefaultInfo(runfiles = runfiles),
    ]

# The deps and data of some cases under one name. A target that depends on it
# may include the headers of all deps, like direct dependencies.
_what_cases_use = rule(
    implementation = _what_cases_use_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "data": attr.label_list(allow_files = True),
    },
)

def weft_test(name, size = "small", alone = False, deps = [], **kwargs):
    """GoogleTest cases; all of a package's run as :module_test, at its end.

    :NAME, these cases alone, is built and run only where it is named.

    alone: it is a test of its own, which //... finds, and no part of the
    module's; so is one that sets more than srcs, deps, data and a size up to
    medium. Two files that include the same cases can't share a binary.
    """
    own = [key for key in kwargs if key not in _MERGEABLE]
    if alone or own or size not in ["small", "medium"]:
        kwargs["deps"] = deps + ["@gtest_main"]
        _precompiled(kwargs, "precompiled_test")
        native.cc_test(name = name, size = size, **kwargs)
        return
    srcs = kwargs.pop("srcs")
    _what_cases_use(
        name = name + "_deps",
        testonly = True,
        visibility = ["//visibility:private"],
        deps = deps,
        **kwargs
    )
    kwargs = {"srcs": srcs, "deps": [name + "_deps", "@gtest_main"]}
    _precompiled(kwargs, "precompiled_test")
    native.cc_test(
        name = name,
        size = size,
        tags = ["manual", _CASES] + [_SOURCE + src for src in srcs],
        **kwargs
    )

# The sed command that gives anonymous namespaces a name.
_NAMED = ("s/^namespace {$$/namespace %s {} using namespace %s; " +
          "namespace %s {/")

def _namespace_of(src):
    # With the package: a module's folders are linked into one program.
    path = native.package_name() + "/" + src[:-len(".cc")]
    return path.replace("/", "_").replace("-", "_")

def _unit_of_cases(name, srcs):
    """Writes a source that holds the tests `srcs`; returns its name.

    Each test keeps its own anonymous namespace, because helpers of tests often
    have the same name.
    """
    native.genrule(
        name = name,
        testonly = True,
        srcs = srcs,
        outs = [name + ".cc"],
        # Includes are first, so that no header sees the names of a test.
        cmd = "(grep -h '^#include' $(SRCS); " + "; ".join([
            "echo '#line 1 \"%s/%s\"'; sed '%s' $(location %s)" % (
                native.package_name(),
                src,
                _NAMED % tuple(3 * [_namespace_of(src)]),
                src,
            )
            for src in srcs
        ]) + ") > $@",
    )
    return name + ".cc"

def _compile_cases(name, tests):
    """Compiles a library of the cases of weft_tests (from existing_rules)."""
    srcs = [
        tag[len(_SOURCE):]
        for test in tests
        for tag in test["tags"]
        if tag.startswith(_SOURCE)
    ]
    sources = [src for src in srcs if src.endswith(".cc")]
    headers = [src for src in srcs if src not in sources]
    kwargs = {
        "srcs": headers + select({
            "//bazel:separate_units": sources,
            "//conditions:default": [_unit_of_cases(name + "_unit", sources)],
        }),
        "deps": [test["name"] + "_deps" for test in tests] + ["@gtest_main"],
    }
    _precompiled(kwargs, "precompiled_test")
    native.cc_library(
        name = name,
        testonly = True,
        alwayslink = True,
        linkstatic = True,
        visibility = ["//visibility:private"],
        **kwargs
    )

def _cases_above():
    """Compiles the weft_tests above, a few at a time; returns the libraries."""
    tests = [
        rule
        for rule in native.existing_rules().values()
        if _CASES in rule.get("tags", [])
    ]
    libraries = []
    for first in range(0, len(tests), _TESTS_A_UNIT):
        libraries.append("module_cases_%d" % (len(libraries) + 1))
        _compile_cases(libraries[-1], tests[first:first + _TESTS_A_UNIT])
    return libraries

def weft_module_cases():
    """:module_cases, all the weft_test cases above it.

    For the :module_test of the module whose folder this is.
    """
    module = native.package_name().rpartition("/")[0]
    native.cc_library(
        name = "module_cases",
        testonly = True,
        visibility = ["//%s:__pkg__" % module],
        deps = _cases_above(),
    )

def weft_module_test(size = "medium", cases = [], **kwargs):
    """:module_test, one binary of all the weft_test cases above it.

    To link each file of cases by itself takes longer than to compile it.

    cases: :module_cases of the module's folders.
    """
    native.cc_test(
        name = "module_test",
        size = size,
        deps = _cases_above() + cases + ["@gtest_main"],
        **kwargs
    )

def weft_py_test(name, size = "small", deps = [], **kwargs):
    """A unittest program that ends with xml_unittest.main()."""
    native.py_test(
        name = name,
        size = size,
        deps = deps + ["//tools:xml_unittest"],
        **kwargs
    )

def weft_binary(name, **kwargs):
    """A program."""
    _precompiled(kwargs, "precompiled_library")
    native.cc_binary(name = name, **kwargs)

def weft_benchmark(name, deps = [], **kwargs):
    """A Google Benchmark program; build it with --config=opt."""
    kwargs["deps"] = deps + ["@benchmark"]
    _precompiled(kwargs, "precompiled_library")
    native.cc_binary(name = name, **kwargs)

def weft_fuzzer(name, header, function, srcs = [], deps = [], **kwargs):
    """A libFuzzer program; build it with --config=fuzz (clang).

    header: declares the target, `function(absl::string_view bytes)`, which a
    test gives the corpus as well (//libs/base:fuzz_corpus).
    srcs: may define LLVMFuzzerCustomMutator.
    """
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = ["//libs/base:testing/fuzz_main.cc"] + srcs,
        copts = ["-fsanitize=fuzzer"],
        linkopts = ["-fsanitize=fuzzer"],
        local_defines = [
            "WEFT_FUZZ_HEADER=\\\"%s\\\"" % header,
            "WEFT_FUZZ_FUNCTION=" + function,
        ],
        tags = ["manual"],
        deps = deps + ["@absl"],
        **kwargs
    )

def weft_flatbuffers(name, srcs, **kwargs):
    """C++ from FlatBuffers schemas; include as "schemas/NAME_generated.h"."""
    outs = [src[:-len(".fbs")] + "_generated.h" for src in srcs]
    native.genrule(
        name = name + "_gen",
        srcs = srcs,
        outs = outs,
        # The names let tools/wire print tables that it has no code for.
        cmd = "/usr/bin/flatc --cpp --cpp-std c++17 --scoped-enums" +
              " --reflect-names" +
              " -o $(RULEDIR) $(SRCS)",
    )
    native.cc_library(name = name, hdrs = outs, deps = ["@flatbuffers"], **kwargs)

# Names that protoc defines in each source that it writes.
_NAMES_OF_PROTOC = ["schemas", "file_default_instances"]

def _append(source, number, target):
    """Returns a command that moves protoc's `source` to the end of `target`."""
    define = ["#define %s %s_%d" % (n, n, number) for n in _NAMES_OF_PROTOC]
    undefine = ["#undef " + n for n in _NAMES_OF_PROTOC]
    return "(printf '%s\\n'; cat %s; printf '%s\\n') >> %s; rm %s; " % (
        "\\n".join(define),
        source,
        "\\n".join(undefine),
        target,
        source,
    )

def weft_protos(name, srcs, imports = [], deps = [], **kwargs):
    """C++ from .proto files of one package; include as "PACKAGE/NAME.pb.h".

    All files are compiled as one source, since they include the same headers.

    imports: .proto files of the deps that srcs import, directly or not.
    """
    headers = [src[:-len(".proto")] + ".pb.h" for src in srcs]
    source = name + ".pb.cc"
    native.genrule(
        name = name + "_gen",
        srcs = srcs + imports,
        outs = headers + [source],
        cmd = "/usr/bin/protoc -I. --cpp_out=$(GENDIR) " +
              " ".join(["$(location %s)" % src for src in srcs]) +
              "; rm -f $(RULEDIR)/%s.all; " % name +
              "".join([
                  _append(
                      "$(RULEDIR)/" + src[:-len(".proto")] + ".pb.cc",
                      number,
                      "$(RULEDIR)/%s.all" % name,
                  )
                  for number, src in enumerate(srcs)
              ]) + "mv $(RULEDIR)/%s.all $(location %s)" % (name, source),
    )
    native.cc_library(
        name = name,
        srcs = [source],
        hdrs = headers,
        copts = ["-Wno-error", "-Wno-unused-variable"],
        linkstatic = True,
        deps = deps + ["@protobuf"],
        **kwargs
    )

def _optimization(tag):
    """Returns -O3, or -O1 if the build is for machines with another set."""
    choices = {
        "//bazel:kernels_for_" + other: ["-O3" if other == tag else "-O1"]
        for other in INSTRUCTION_SETS
    }
    choices["//conditions:default"] = ["-O3"]
    return select(choices)

def _linked(name):
    """Returns the libraries of the sets among which programs choose."""
    choices = {
        "//bazel:kernels_for_" + tag: [
            ":%s_%s" % (name, linked)
            for linked in INSTRUCTION_SETS
            if linked in [_BASELINE, tag]
        ]
        for tag in INSTRUCTION_SETS
    }
    choices["//conditions:default"] = [
        ":%s_%s" % (name, tag)
        for tag in INSTRUCTION_SETS
    ]
    return select(choices)

def weft_kernels_per_instruction_set(
        name,
        srcs,
        hdrs,
        deps = [],
        symbols_test = True,
        **kwargs):
    """Compiles the sources once for each instruction set, in its own namespace.

    They are compiled as one unit. With clang, --define=units=separate compiles
    them one by one.

    The sources open `namespace WEFT_ISA`, so each symbol exists as v1::, v3::
    and v4::. Eigen's namespace is renamed likewise: otherwise the linker merges
    its weak symbols, and a baseline caller runs AVX-512 code. For the same
    reason, these sources must not use std:: templates: the test
    NAME_symbols_test, also made here, finds each symbol that two sets share.
    Functions for other sources are declared with
    libs/kernels/isa/per_instruction_set.h.
    --define=kernels_for=v4 links v1 and v4 only, and optimizes v4 only: on a
    processor without v4 such programs are correct, but slow.
    """
    units = srcs
    if len(srcs) > 1:
        units = _units(name, srcs, len(srcs))
    for tag, march in INSTRUCTION_SETS.items():
        copts = [
            "-march=" + march,
            # Square roots that set errno, and conditionals that must not raise
            # floating-point exceptions, are not vectorized. The results are
            # the same, bit by bit.
            "-fno-math-errno",
            "-fno-trapping-math",
            "-Wno-maybe-uninitialized",
            "-Wno-uninitialized",
            "-DWEFT_ISA=" + tag,
            "-DEigen=Eigen_" + tag,
        ] + _optimization(tag)
        objects = "%s_%s_objects" % (name, tag)
        gxx_objects(
            name = objects,
            srcs = select({
                "//bazel:separate_units": srcs,
                "//conditions:default": units,
            }),
            hdrs = hdrs + srcs,
            copts = copts,
            tags = ["manual"],
            deps = deps,
        )
        native.cc_library(
            name = name + "_" + tag,
            srcs = select({
                "//bazel:clang": [":" + objects],
                "//conditions:default": units,
            }),
            hdrs = hdrs,
            textual_hdrs = srcs,
            copts = copts,
            linkstatic = True,
            deps = deps,
        )
    sets = [":%s_%s" % (name, tag) for tag in INSTRUCTION_SETS]
    native.cc_library(name = name, hdrs = hdrs, deps = _linked(name), **kwargs)
    library_archives(name = name + "_archives", libraries = sets)
    if symbols_test:
        weft_py_test(
            name = name + "_symbols_test",
            srcs = ["//tools/instruction_sets:archives_test.py"],
            args = ["$(locations :%s_archives)" % name],
            data = [":%s_archives" % name],
            main = "//tools/instruction_sets:archives_test.py",
            deps = ["//tools/instruction_sets:symbols"],
        )
