"""The CUDA toolkit of this machine, where there is one, as @cuda.

Looked for where CUDA_HOME says, beside the nvcc of PATH, in /usr/local/cuda, in
/usr/local/cuda-VERSION (the newest) and in /usr/lib/cuda. Where none is found
HAVE_CUDA is False, and what would be compiled by it is left out.
"""

def _roots(rctx):
    """Folders that a toolkit may be in, best first."""
    roots = []
    if rctx.os.environ.get("CUDA_HOME"):
        roots.append(rctx.os.environ["CUDA_HOME"])
    nvcc = rctx.which("nvcc")
    if nvcc:
        roots.append(str(nvcc.realpath.dirname.dirname))
    roots.append("/usr/local/cuda")
    local = rctx.path("/usr/local")
    if local.exists:
        roots += reversed(sorted([
            str(folder)
            for folder in local.readdir()
            if folder.basename.startswith("cuda-")
        ]))
    return roots + ["/usr/lib/cuda"]

def _runtime(rctx, root):
    """The static runtime library of the toolkit in `root`, or None."""
    for folder in ["lib64", "lib", "targets/x86_64-linux/lib"]:
        library = rctx.path("%s/%s/libcudart_static.a" % (root, folder))
        if library.exists:
            return library
    return None

def _toolkit(rctx):
    """(nvcc, include folder, runtime library) of the best toolkit, or None."""
    if rctx.os.environ.get("WEFT_CUDA") == "off" or not rctx.which("g++"):
        return None
    for root in _roots(rctx):
        nvcc = rctx.path(root + "/bin/nvcc")
        header = rctx.path(root + "/include/cuda_runtime_api.h")
        library = _runtime(rctx, root)
        if nvcc.exists and header.exists and library:
            return nvcc, header.dirname, library
    return None

_BUILD = """
# Headers for g++; nvcc knows its own. And the runtime, which opens the driver
# when the program runs, so that the program starts where there is none.
cc_library(
    name = "headers",
    hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/*"]),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
cc_library(
    name = "runtime",
    srcs = ["libcudart_static.a"],
    defines = ["WEFT_HAVE_CUDA=1"],
    linkopts = ["-ldl", "-lpthread", "-lrt"],
    linkstatic = True,
    visibility = ["//visibility:public"],
    deps = [":headers"],
)
"""
_EMPTY = """
cc_library(name = "headers", visibility = ["//visibility:public"])
cc_library(name = "runtime", visibility = ["//visibility:public"])
"""
_DEFS = """# Written by third_party/cuda.bzl.
HAVE_CUDA = {have}
NVCC = {nvcc}
NVCC_VERSION = {version}
HOST_COMPILER = {compiler}
HOST_COMPILER_VERSION = {compiler_version}
"""

def _cuda_toolkit_impl(rctx):
    found = _toolkit(rctx)
    version = ""
    if found:
        rctx.symlink(found[1], "include")
        rctx.symlink(found[2], "libcudart_static.a")
        asked = rctx.execute([str(found[0]), "--version"])
        version = asked.stdout.strip().split("\n")[-1]
    compiler = rctx.which("g++")
    compiler_version = ""
    if compiler:
        asked = rctx.execute([str(compiler), "--version"])
        compiler_version = asked.stdout.split("\n")[0]
    rctx.file("BUILD", _BUILD if found else _EMPTY)
    rctx.file("defs.bzl", _DEFS.format(
        have = bool(found),
        nvcc = repr(str(found[0]) if found else ""),
        version = repr(version),
        compiler = repr(str(compiler or "")),
        compiler_version = repr(compiler_version),
    ))

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    environ = ["CUDA_HOME", "PATH", "WEFT_CUDA"],
    local = True,
)
