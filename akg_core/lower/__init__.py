"""From a checked sketch to what a printer of a language needs: the middle end that plugins share. Imports no torch.

specialise    a launch becomes an instance of its kernel, with every number known there folded in (`fold`)
ir            what a kernel is made of: regions, axes, values and ops
build         statements become ops (`values`: expressions; `dependences`: what each reads and writes)
explicit      every conversion written out; `decompose`: what a language lacks, by what it has
tile/         for languages of tiles: lanes, masks, order, what is written out; tiles become numbers
loops/        for languages of scalars and vectors: ops become loop nests
verify, show  what holds after every pass; the IR as text (`listing`: of a whole sketch)
access        how an index moves along an axis; `divisors`: what divides it; `reach`: how far along it anything is used
approximable  which divisions may be an ulp off, for nothing jumps by them
substitute    names replaced in ops
host/         model_new.py, the Python side of a kernel (`python_launch`: how it launches kernels that are Python)
source_text   generated lines that remember the line of the sketch they are for; `precedence`: brackets of expressions
resources/    what a schedule needs on the chip, by the chip's numbers; `products`: how it multiplies matrices
scalars       floats of a launch on chips without f64; `bits`: tensors of f64 that are read there
interpretation_steps   how much it is to run a sketch by simulation
"""
