"""Names, options, releases and the catalogue: what is refused before AWS is asked anything."""

import pytest
from infra_common.errors import OptionRefused
from speech_infra.catalogue import MODELS, has_gpu, model_named
from speech_infra.errors import ModelUnknown, NothingToRollBack
from speech_infra.fallback_prices import USD_AN_HOUR
from speech_infra.names import Names
from speech_infra.options import EndpointOptions
from speech_infra.release import Release, previous_release

DIGESTS = [f"sha256:{digit * 64}" for digit in "abc"]


def release(digest: str = DIGESTS[0], *, is_paused: bool = False) -> Release:
    return Release(digest, "w" * 32, EndpointOptions.for_model(model_named("kokoro-82m")), is_paused)


def test_every_model_has_a_price_and_an_image_that_fits_its_instance() -> None:
    for model in MODELS.values():
        assert model.instance_type in USD_AN_HOUR
        assert has_gpu(model.instance_type) == (model.gpu_machine_image is not None) == (model.cuda is not None)


def test_the_engine_of_a_model_has_the_weights_that_it_wants() -> None:
    assert model_named("kokoro-82m").needs_safetensors
    cpu = model_named("kokoro-82m-cpu")
    assert cpu.needs_stages == ("openvino" in cpu.engines)
    assert (cpu.engine, cpu.engines) == ("auto", ("openvino", "onnx"))


def test_an_unknown_model_is_told_the_known_ones() -> None:
    with pytest.raises(ModelUnknown, match="kokoro-82m, kokoro-82m-cpu"):
        model_named("kokoro")


@pytest.mark.parametrize("stage", ["", "Dev", "a-b", "1a", "abcdefghi"])
def test_a_stage_that_would_not_fit_a_bucket_name_is_refused(stage: str) -> None:
    with pytest.raises(OptionRefused, match="1 to 8 lower-case"):
        Names(stage, "kokoro-82m", "123456789012", "us-east-1")


def test_the_longest_names_fit_their_services() -> None:
    names = Names("a" * 8, "kokoro-82m-cpu", "123456789012", "ap-southeast-2")
    assert len(names.weights_bucket) <= 63
    assert len(names.access_log_bucket) <= 63
    assert len(names.endpoint) <= 63


def test_a_gpu_image_on_an_instance_without_a_gpu_is_refused_and_the_other_way_round() -> None:
    with pytest.raises(OptionRefused, match="wants an instance with a GPU"):
        EndpointOptions.for_model(model_named("kokoro-82m"), instance_type="ml.c7i.2xlarge")
    with pytest.raises(OptionRefused, match="no GPU"):
        EndpointOptions.for_model(model_named("kokoro-82m-cpu"), instance_type="ml.g5.xlarge")


def test_rolling_with_one_instance_is_refused_with_what_would_do() -> None:
    with pytest.raises(OptionRefused, match="--instances 2"):
        EndpointOptions.for_model(model_named("kokoro-82m"), strategy="rolling")


@pytest.mark.parametrize(("strategy", "peak"), [("blue-green", 8), ("rolling", 6)])
def test_an_update_needs_more_instances_than_serve(strategy: str, peak: int) -> None:
    options = EndpointOptions.for_model(model_named("kokoro-82m"), instances=4, max_instances=4, strategy=strategy)
    assert options.peak_instances == peak


def test_a_release_reads_back_what_it_was_written_as() -> None:
    options = EndpointOptions.for_model(model_named("kokoro-82m"), use_vpc=True, tags={"team": "voice"})
    written = Release(DIGESTS[1], "w" * 32, options, is_paused=True)
    assert Release.parse(written.render()) == written


def test_an_image_by_tag_is_no_release() -> None:
    with pytest.raises(OptionRefused, match="by digest"):
        release("latest")


def test_rolling_back_skips_pauses_and_repetitions() -> None:
    history = [
        release(DIGESTS[0]),
        release(DIGESTS[1]),
        release(DIGESTS[1], is_paused=True),
        release(DIGESTS[1]),
    ]
    assert previous_release(history) == release(DIGESTS[0])


def test_the_first_release_has_nothing_behind_it() -> None:
    with pytest.raises(NothingToRollBack, match="--image-digest"):
        previous_release([release(), release(is_paused=True), release()])
