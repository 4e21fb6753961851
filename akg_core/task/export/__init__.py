"""Forward exported: the call that is traced, and its program as a graph. Worker side.

example           the module and its arguments, and what forward gives for them
fake              forward on tensors without data
returned          what forward gives, where masks say how long that is
packing           how outputs are packed: tuples, lists and dicts of each other
held              arguments whose content says how large results are
cases             the sizes of `get_inputs_dyn_list`
traced            forward traced, with as much left open as can be
translate         the exported program as a graph
guards            what tracing assumed of sizes
single, ranks     whether the graph holds at size 1, with fewer dims and without elements
notes, wording    what is said of a task beside its graph; what cannot be captured, in the terms of who wrote it
"""
