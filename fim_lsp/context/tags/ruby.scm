(class name: [(constant) (scope_resolution name: (constant))]) @whole
(module name: [(constant) (scope_resolution name: (constant))]) @whole
(method name: (_)) @whole
(singleton_method name: (_)) @whole
