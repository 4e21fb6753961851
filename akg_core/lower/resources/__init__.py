"""What a schedule needs on the chip, told from the IR and from numbers of the chip alone.

limits             what a program, and what a unit of a chip has
liveness           bytes of the tiles that live at once in a program; `fitting`: the first schedule within them
buffers            the same where a compiler keeps copies of what is loaded and stored, and steps have tiles
software_pipeline  stages of loops, and what products keep of their factors, in memory beside a unit
threads            warps of a program, by the elements of its tiles
occupancy          programs that a unit runs at once, once registers are known
work               programs, bytes that they move, and operations, of every launch
"""
