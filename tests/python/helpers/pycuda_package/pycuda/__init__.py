# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's sample programs use of pycuda, which has no wheels for most machines."""
