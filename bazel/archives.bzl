"""Provides the archives of libraries as files that a test can read."""

def _library_archives_impl(ctx):
    archives = []
    for library in ctx.attr.libraries:
        context = library[CcInfo].linking_context
        for input in context.linker_inputs.to_list():
            if input.owner == library.label:
                archives += [
                    built.pic_static_library or built.static_library
                    for built in input.libraries
                ]
    files = depset(archives)
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(archives))]

library_archives = rule(
    implementation = _library_archives_impl,
    attrs = {"libraries": attr.label_list(providers = [CcInfo])},
)
