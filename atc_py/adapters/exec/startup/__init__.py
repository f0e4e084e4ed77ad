"""Folder that comes first in PYTHONPATH of a program under `atc-py exec`.

Its files import nothing of the package until the program imports onnxruntime.
"""
