"""The cases that every emitter is held against: small sketches with inputs, and what to run them with.

What a sketch means is what the interpreter computes (`akg_core.sketch.interpret`). A `Case` (`running`) is a sketch
with inputs, parameters and a tolerance; `cases` has all of them, by family. `akg-core conformance NAME` runs the first
of every family through a plugin's hooks (level `emission`), with `--only "emission and maps"` those of one.

To run all of them faster, in a plugin's own tests, override `execute` of `running.Run` with what was emitted for one
launch:

    from akg_core.testing.emission import cases
    from akg_core.testing.emission.running import Launched, Run, compare_all

    class Emitted(Run):
        def execute(self, launched: Launched) -> None:
            function = emitted_and_built(launched.instance)  # the kernel, as `akg_core.lower.specialise` hands it over
            function(*launched.tensors.values(), *launched.sizes.values())  # which writes to its tensors

    for case in cases.family("maps"):
        compare_all(Emitted(case).go(), Run(case).go(), case.tolerance)

Nothing here is imported by `akg_core.testing` itself: it takes torch and the designer.
"""
