# SPDX-License-Identifier: MIT
"""pytest ends as every runner here does: "N passed, N failed, N skipped"."""


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin('terminalreporter')
    if reporter:
        count = {key: len(reporter.stats.get(key, []))
                 for key in ('passed', 'failed', 'error', 'skipped')}
        print(f'\n{count["passed"]} passed, '
              f'{count["failed"] + count["error"]} failed, '
              f'{count["skipped"]} skipped')
