"""The reference: its cases, its answers, and new inputs for timed calls.

prepare                   the orchestrator's side: started early, works while the kernel is built
process                   the reference process
schedule                  which cases a task is judged on
other_sizes               other sizes than the example's, of these
construction              the seed by which modules are constructed
drawing                   cases: their inputs and states
placement                 where the tensors of a case lie in memory
beyond_guards             sizes of which the captured graph says nothing
answering                 what the reference answers: eager, and in float64
noise                     how far rounding noise moves that
precise                   running in float64
steps                     comparisons that no rounding decides
host_checks               what the host refuses and a device does not: indices, bags, probabilities, divisors
lacking                   operators that PyTorch has not for a dtype on a device
reordered                 products of many numbers in another order
transforms                Fourier transforms that round as sums do
by_rows                   a case by parts of its rows, where memory does not do for all
near_eager                answers that are right whatever float64 says
tie_order                 what depends on which of equal values comes first
updates                   what a reference updates in place
written                   what a candidate wrote, compared
lower_bound               bytes and operations that a task asks of any implementation
least                     the same for given inputs, of which zeros ask nothing
locality                  leading dimensions that a reference never combines
memory, memory_estimate   how much memory judging may take, and takes
new_inputs, timed_inputs  other values for every timed call, and whether answers to them are right
new_inputs_on_device      other values that are made on a device
turns_on_device           turns that are timed on it
turnover                  from one task to the next in the same process
"""
