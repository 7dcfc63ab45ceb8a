"""Compiles objects with a compiler that the rule chooses."""

def compile_objects(
        ctx,
        context,
        compiler,
        arguments,
        folder,
        mnemonic,
        version,
        suffix = ""):
    """Compiles each of ctx's srcs to FOLDER/TARGET/NAME.o; returns a DefaultInfo.

    context: the compilation context of the deps; their headers are inputs
    arguments: all arguments except "-c SRC -o OBJECT"
    version: {variable: text}, which identifies the compiler for the cache; its
      files are not inputs
    suffix: ends the progress message
    """
    objects = []
    for src in ctx.files.srcs:
        compiled = ctx.actions.declare_file("%s/%s/%s.o" % (
            folder,
            ctx.label.name,
            src.basename[:-len(src.extension) - 1],
        ))
        ctx.actions.run(
            executable = compiler,
            arguments = arguments + ["-c", src.path, "-o", compiled.path],
            inputs = depset(
                [src] + ctx.files.hdrs,
                transitive = [context.headers],
            ),
            outputs = [compiled],
            mnemonic = mnemonic,
            progress_message = "Compiling " + src.short_path + suffix,
            env = dict(version, PATH = "/usr/bin:/bin", TMPDIR = "/tmp"),
        )
        objects.append(compiled)
    return DefaultInfo(files = depset(objects))
