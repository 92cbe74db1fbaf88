"""Whole studies, run as a user runs them, in folders of their own."""

import pytest
from study_folders import StudyFolder


@pytest.fixture
def study_folder(tmp_path):
    return StudyFolder(tmp_path)
