"""Rules for code that needs the compiler or the headers of CUDA.

Without a toolkit (third_party/cuda.bzl), or with --define=cuda=off, each
library is empty, and WEFT_HAVE_CUDA is not defined.
"""

load("@cuda//:defs.bzl", "HAVE_CUDA", "HOST_COMPILER", "NVCC", "NVCC_VERSION")
load("//bazel:compile_objects.bzl", "compile_objects")
load("//bazel:weft.bzl", "weft_library", "weft_test")

_OFF = "//bazel:cuda_off"
_ELSE = "//conditions:default"
_EMULATED_KERNELS = "//bazel:emulated_kernels.py"

# Code is compiled for these; later ones use the PTX of the last one.
_DEFAULT_ARCHS = "75,90"

def _if_cuda(value):
    """Returns `value` if CUDA code is compiled, else []."""
    return select({_OFF: [], _ELSE: value}) if HAVE_CUDA else []

def _arch_flags(archs):
    """Returns flags for archs, such as "80,90" or nvcc's name "all-major"."""
    if not archs[0].isdigit():
        return ["-arch=" + archs]
    names = archs.split(",")
    flags = []
    for name in names:
        flags += ["-gencode", "arch=compute_%s,code=sm_%s" % (name, name)]
    last = names[-1]
    return flags + ["-gencode", "arch=compute_%s,code=compute_%s" % (last, last)]

def _cuda_objects_impl(ctx):
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    archs = _arch_flags(ctx.var.get("cuda_archs", _DEFAULT_ARCHS))
    return [compile_objects(
        ctx,
        context,
        NVCC,
        archs + [
            "-ccbin",
            HOST_COMPILER,
            "-std=c++20",
            "-O3",
            "--expt-relaxed-constexpr",
            "--extended-lambda",
            "-Wno-deprecated-gpu-targets",
            # Calls of host functions on the device are only warnings of nvcc.
            "-Werror",
            "all-warnings",
            "-Xcompiler",
            "-fPIC",
            "-I.",
        ],
        folder = "_nvcc",
        mnemonic = "CudaCompile",
        version = {"WEFT_NVCC_VERSION": NVCC_VERSION},
    )]

_cuda_objects = rule(
    implementation = _cuda_objects_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "hdrs": attr.label_list(allow_files = True),
        "deps": attr.label_list(providers = [CcInfo]),
    },
)

def _emulated(name):
    return name + "_emulated"

def _emulated_library(name, srcs, hdrs, deps):
    """Compiles the same sources with g++, for emulated GPUs."""
    sources = []
    for src in srcs:
        source = "_emulated/%s.cc" % src[:-len(".cu")]
        native.genrule(
            name = "%s_of_%s" % (_emulated(name), src[:-len(".cu")]),
            srcs = [src],
            outs = [source],
            cmd = "python3 $(location %s) $< $@" % _EMULATED_KERNELS,
            tags = ["manual"],
            tools = [_EMULATED_KERNELS],
        )
        sources.append(source)
    native.cc_library(
        name = _emulated(name),
        testonly = True,
        srcs = sources + hdrs,
        copts = [
            "-O1",
            "-include",
            "libs/device/cuda/testing/emulated_kernel.h",
        ],
        tags = ["manual"],
        alwayslink = True,
        linkstatic = True,
        deps = deps + ["//libs/device/cuda:emulated_cuda"],
    )

def weft_cuda_library(name, srcs, hdrs = [], deps = [], **kwargs):
    """A library of *.cu sources, compiled by nvcc.

    deps: libraries whose headers they include; these have only plain types.
    """
    if HAVE_CUDA:
        _emulated_library(name, srcs, hdrs, deps)
        _cuda_objects(
            name = name + "_objects",
            srcs = srcs,
            hdrs = hdrs,
            deps = deps,
            # Built only as a dependency: //... with --define=cuda=off skips it.
            tags = ["manual"],
        )
    native.cc_library(
        name = name,
        srcs = _if_cuda([":%s_objects" % name]),
        hdrs = hdrs,
        deps = deps + _if_cuda(["@cuda//:runtime"]),
        linkstatic = True,
        **kwargs
    )

def weft_cuda_host_library(
        name,
        srcs,
        hdrs = [],
        stubs = [],
        deps = [],
        **kwargs):
    """A library of sources for g++ that include headers of CUDA.

    stubs: sources to compile instead without CUDA.
    """
    weft_library(
        name = name,
        srcs = select({_OFF: stubs, _ELSE: srcs}) if HAVE_CUDA else stubs,
        hdrs = hdrs,
        deps = deps + _if_cuda(["@cuda//:runtime"]),
        **kwargs
    )

def weft_emulated_cuda(name, libraries, **kwargs):
    """The weft_cuda_libraries of a program, for weft_emulated_cuda_test."""
    native.cc_library(
        name = name,
        testonly = True,
        deps = _if_cuda([_emulated(library) for library in libraries]),
        **kwargs
    )

def weft_emulated_cublas(name, srcs, **kwargs):
    """The shared library `name`, which uses only the headers of CUDA."""
    if HAVE_CUDA:
        native.cc_binary(
            name = name,
            testonly = True,
            srcs = srcs,
            copts = ["-fPIC"],
            linkshared = True,
            tags = ["manual"],
            deps = ["@cuda//:headers"],
            **kwargs
        )

def weft_emulated_cuda_test(name, srcs, deps = [], kernels = [], **kwargs):
    """A weft_test on emulated GPUs; without CUDA there is no test.

    kernels: a weft_emulated_cuda.
    """
    if HAVE_CUDA:
        weft_test(
            name = name,
            srcs = _if_cuda(srcs),
            alone = True,
            # The replacements of CUDA's runtime and of nvcc's code come first:
            # the linker then takes nothing from the archives of these.
            deps = kernels + ["//libs/device/cuda:emulated_cuda"] + deps,
            **kwargs
        )
