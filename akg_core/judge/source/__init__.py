"""What is read of a kernel before it runs: its text, its files, its machine code.

text          the Python files of a kernel, for `akg_check_source`
rules         what that text must not name
imports       what that text may import
belongings    which files of a folder are the kernel's
native        the kernel's machine code: read, then loaded without running
native_names  the libraries and functions that machine code may ask for
machine_code  machine code of libraries that computes, made not executable
"""
