"""ReFrame test: does a node's operating-system noise stay within limits?

    reframe -c anechoic_noise.py -r                      this node
    reframe -c anechoic_noise.py -r --distribute=idle    each idle node of the partitions, in a job of its own
    reframe -c anechoic_noise.py -r -S rules='--max-noise 0.5%' -S options='--duration 60s --cpus 2-15'
"""

import json
import os

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class anechoic_noise(rfm.RunOnlyRegressionTest):
    descr = 'Operating-system noise within limits (anechoic)'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    maintainers = ['anechoic']
    tags = {'health', 'noise'}
    executable = 'anechoic'
    exclusive_access = True
    time_limit = '5m'
    keep_files = ['noise', 'summary.json', 'gate.txt']

    #: Options of ``anechoic run``
    options = variable(str, value='--duration 10s')
    #: Options of ``anechoic gate``
    rules = variable(str, value='--max-noise 1% --max-detour 10ms')

    @run_before('run')
    def set_job(self):
        # A job step gets one CPU if none are asked for.
        processor = self.current_partition.processor
        if processor.num_cpus:
            self.num_cpus_per_task = processor.num_cpus // (processor.num_cpus_per_core or 1)
        self.executable_opts = ['run', *self.options.split(), '--quiet', '--output', 'noise']
        self.postrun_cmds = [
            'anechoic summary noise --json > summary.json',
            f'anechoic gate noise {self.rules} --style nagios > gate.txt',
        ]

    def read(self, name):
        with open(os.path.join(self.stagedir, name), encoding='utf-8') as file:
            return file.read()

    @sanity_function
    def keeps_limits(self):
        # Undecided is not passed: the line states what is missing.
        verdict = self.read('gate.txt').partition(' | ')[0].strip()
        message = verdict.replace('{', '{{').replace('}', '}}')
        return sn.assert_true(verdict.startswith('ANECHOIC OK '), message)

    @property
    def total(self):
        return json.loads(self.read('summary.json'))['total']

    @performance_function('%')
    def noise(self):
        return 100 * self.total['noise']

    @performance_function('us')
    def longest(self):
        return self.total['lengths']['max_ns'] / 1000

    @performance_function('1/s')
    def detours_per_cpu(self):
        return self.total['rate_per_s']
