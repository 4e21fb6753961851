"""A reference file becomes a Task: load, scale, capture, examine, and draw what it is judged on.

capture                 the file's forward as a graph: the way through the rooms below
graph, category         the graph's vocabulary, and questions to ask of it; what kind of task it is
arguments               the arguments of forward one by one
argument_records        dataclasses and named tuples among them
complex_border          complex tensors among them
unsigned                whole numbers without a sign among them, of more than 8 bits
numbers                 tensors that are made of Python's numbers
layout                  how tensors lie in memory
sparse                  sparse matrices that forward makes, in terms of dense ones
examine, examination    would an answer that computes nothing pass? what was found
randomness              random numbers of a reference, as a kernel has to draw them
source/                 the file read and loaded, its branches and loops rewritten
scaling/                the file made smaller
export/                 the call that is traced, and what `torch.export` made of it as a graph
tracing/                what stands in for PyTorch's functions and Python's numbers meanwhile
data_dependent/         shapes that depend on data: rows and dims as long as masks say, meanwhile
decompositions/         operators in terms of fewer
inputs/                 the inputs that a kernel is judged on
"""
