<?php

// Takes jobs as they come in one message, and writes them to a file with one write.
//
// A job: {"file": "/path/to/list", "line": "one more line"}

declare(strict_types=1);

require __DIR__ . '/oarlock.php';

foreach (Oarlock\batches() as $batch) {
    $files = [];
    foreach ($batch as $job) {
        if (!isset($job->data->line)) {
            $job->fail('there is no line in it', group: 'no-line');
            continue;
        }
        $files[$job->data->file][] = $job->data->line;
    }
    foreach ($files as $path => $lines) {
        file_put_contents($path, count($lines) . ': ' . implode(' ', $lines) . "\n", FILE_APPEND);
    }
}
