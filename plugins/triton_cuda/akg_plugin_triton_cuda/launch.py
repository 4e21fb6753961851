"""The Python text in model_new.py by which Triton functions are launched on NVIDIA GPUs."""

LAUNCHER = '''\
class _Launcher:
    """Launches a function of kernel.py on the device of its tensors, in the stream that is current there.

    Triton needs longer to find what it compiled for some arguments than many a kernel runs. So what it found is kept:
    for a device, for the numbers, and for tensors that begin at multiples of 16 bytes, as torch's own do. Triton's
    launch hooks see only those launches that Triton looks at.
    """

    def __init__(self, function, **options):
        self.function, self.options, self.found = function, options, {}

    def __call__(self, programs, tensors, numbers=()):
        device, addresses = tensors[0].get_device(), 0
        for tensor in tensors:
            addresses |= tensor.data_ptr()
        key = (device, addresses % 16, *numbers)
        compiled = self.found.get(key)
        arguments = (*self.handed(tensors), *numbers)
        if compiled is not None and device == torch.cuda.current_device():
            stream = torch._C._cuda_getCurrentRawStream(device)
            known = compiled.function, compiled.packed_metadata, None, None, None
            compiled.run(programs, 1, 1, stream, *known, *arguments)
            return
        with torch.cuda.device(device):  # the host's is -1, which changes nothing
            made = self.function[(programs,)](*arguments, **self.options)
        if addresses % 16 == 0 and made is not None:  # nothing is made where kernels are interpreted
            self.found[key] = made

    def handed(self, tensors):
        return tensors
'''
