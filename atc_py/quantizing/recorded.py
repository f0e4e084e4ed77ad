"""A calibration as a record in AMCT's format, and one that is read in place of calibrating."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_QUANT_RECORD, QUANT_FIELD_NOT_MODELED, Place
from atc_py.quantizing.calibrate.record import (
    LayerRecord,
    check_record,
    read_record,
    record_text,
)
from atc_py.quantizing.calibrate.value_range import ActivationScale
from atc_py.quantizing.calibrated import Calibrated
from atc_py.quantizing.layers.balance_sites import input_channels
from atc_py.quantizing.layers.float_model import FloatModel, original_places
from atc_py.quantizing.layers.layers import FloatLayer
from atc_py.quantizing.layers.qdq_nodes import Int8Layer
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.prepare import prepare_with_factors
from atc_py.quantizing.selection import skipped_layers
from atc_py.quantizing.weights import layer_weights, weight_codes, weight_numbers
from atc_py.system.atomic_files import atomic_write
from atc_py.system.input_files import read_text
from atc_py.system.temp_folders import work_folder
from atc_py.text import Text

_MOST_BYTES = 64 << 20

NOT_RECORDED = Text("the record has no entry for it")


def write_record(calibrated: Calibrated, path: Path) -> None:
    with atomic_write(path) as file:
        file.write(record_text(record_of(calibrated)).encode())


def record_of(calibrated: Calibrated) -> dict[str, LayerRecord]:
    """The scales and offsets of a calibration by layer."""
    factors = {
        layer.name: balance.factors
        for balance in calibrated.prepared.balances
        for layer in balance.site.readers
    }
    records = {}
    for layer in calibrated.layers:
        scales = [float(scale) for scale in layer.scale.reshape(-1)]
        own = factors.get(layer.name)
        records[layer.name] = LayerRecord(
            scale_d=layer.data.scale,
            offset_d=layer.data.offset,
            scale_w=tuple(scales),
            offset_w=(0,) * len(scales),
            tensor_balance_factor=() if own is None else tuple(map(float, own)),
            dst_type="INT8",
        )
    return records


def calibrated_by_record(model: Path, record: Path, settings: CalibrationOptions) -> Calibrated:
    """A model with the numbers of a record; layers without an entry stay in floats."""
    began = time.monotonic()
    records = read_record(read_text(record, _MOST_BYTES), str(record))
    with ExitStack() as stack:
        folder = stack.enter_context(work_folder())
        original = FloatModel(model)
        stack.enter_context(original_places(original, folder))
        skipped = skipped_layers(original, settings)
        known = {
            layer.name: (layer.shape[layer.axis], input_channels(layer))
            for layer in original.found.layers
        }
        check_record(records, known, str(record))
        _refuse_not_modeled(records, record)
        factors = {
            name: np.array(record.tensor_balance_factor, np.float32)
            for name, record in records.items()
            if record.tensor_balance_factor
        }
        prepared = prepare_with_factors(original, folder, settings, factors)
        done = {layer.name for balance in prepared.balances for layer in balance.site.readers}
        _refuse_factors(factors, done, record)
        layers, left = [], dict(skipped)
        for layer in prepared.model.found.layers:
            own = records.get(layer.name)
            if layer.name in skipped:
                continue
            if own is None:
                left[layer.name] = NOT_RECORDED
            else:
                layers.append(_calibrate_layer(prepared.model, layer, own, settings))
        return Calibrated(
            original=original,
            prepared=prepared,
            layers=tuple(layers),
            left=left,
            steps=prepared.steps,
            settings=settings,
            seconds=time.monotonic() - began,
            folder=folder,
            resources=stack.pop_all(),
        )


def _calibrate_layer(
    model: FloatModel, layer: FloatLayer, record: LayerRecord, settings: CalibrationOptions
) -> Int8Layer:
    activation = ActivationScale(float(np.float32(record.scale_d)), int(record.offset_d or 0))
    if not record.scale_w or layer.is_pool:
        scale, codes = weight_numbers(model.graph, layer, activation.scale, settings.weights)
        return Int8Layer(layer, activation, codes, scale)
    scale = np.array(record.scale_w, np.float32)
    if scale.size == 1 and layer.shape[layer.axis] > 1:
        scale = scale.reshape(())
    codes = weight_codes(layer_weights(model.graph, layer), layer, scale)
    return Int8Layer(layer, activation, codes, scale)


def _refuse_not_modeled(records: Mapping[str, LayerRecord], path: Path) -> None:
    for name, record in records.items():
        if any(record.shift_bit):
            raise QUANT_FIELD_NOT_MODELED.error(
                Text("{name} has shift_bit other than 0", name=repr(name)),
                place=Place(str(path), field=name),
            )
        if {record.dst_type, record.act_type, record.wts_type} - {None, "INT8"}:
            raise QUANT_FIELD_NOT_MODELED.error(
                Text("{name} has a type other than INT8", name=repr(name)),
                place=Place(str(path), field=name),
            )


def _refuse_factors(factors: Mapping[str, NDArray[np.float32]], done: set[str], path: Path) -> None:
    """Refuse factors of data whose maker cannot be divided by them."""
    for name in factors.keys() - done:
        raise BAD_QUANT_RECORD.error(
            Text(
                "tensor_balance_factor of {name} cannot be applied: the producer of its data, "
                "or another reader of them, cannot be scaled",
                name=repr(name),
            ),
            place=Place(str(path), field=name),
            help=Text("remove the factors, and calibrate the layer again"),
        )
