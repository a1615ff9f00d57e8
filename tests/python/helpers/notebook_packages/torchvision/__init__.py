# SPDX-License-Identifier: Apache-2.0
"""What notebooks use of torchvision: models that need no weights, and drawing."""
