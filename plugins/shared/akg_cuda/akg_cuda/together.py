"""The Python text in model_new.py that looks at whether programs that wait for each other run at the same time."""

TOGETHER = '''\
def _together(device, programs, warps):
    """Refuse a GPU that may not run so many programs at the same time: they would wait for each other for ever."""
    if device.type == "cuda":
        units = torch.cuda.get_device_properties(device).multi_processor_count
        if programs > units * max(1, 8 // warps):  # by registers, of which a thread has 255 at most
            raise RuntimeError(f"{programs} programs have to run together; this GPU has {units} multiprocessors")
'''
