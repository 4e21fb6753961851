"""Which values one kernel computes: values are gathered into clusters, one a kernel.

partition      clusters in an order in which they can run: what joins which, what is stored between them
cluster        a cluster: a space of positions, its anchors, and the values that it stores
loop_nest      a cluster becomes a loop nest
horizontal     products of one left operand whose results meet are summed in one kernel
anchors        a partition that knows products, attentions and loops
operands       what products and attentions have stored before them
scattering     what a scatter becomes: updates in parts, or rows that programs fill and update
looping        what a loop has stored before it
buffers        the tensors of a program
recomputation  values that would be computed at many places, which are stored
sharing        kernels that differ in names alone are one
"""
